import type { ClaimedRun } from '@agent-workflow/protos/threads';
import { sumBounded } from '@agent-workflow/graph/state/usage';
import {
  combineFinishes,
  fromUsageJson,
  noUsage,
  totalOf,
  type ModelUsage,
  type Usage,
} from '@agent-workflow/protos/usage';

/**
 * The tokens of one claimed run, which goes on from what its earlier claims have committed. Each commit writes the sum up to it, so that a
 * commit which is repeated counts once.
 */
export class RunUsage {
  #total: Usage;
  #onRecord: Usage;

  constructor({ usageJson }: Pick<ClaimedRun, 'usageJson'>) {
    this.#total = fromUsageJson(usageJson);
    this.#onRecord = this.#total;
  }

  /** Those of the committed steps, and of the one that runs now. */
  get total(): Usage {
    return this.#total;
  }

  /** @throws RunFailure when the run has used too many models. */
  add(usage: ModelUsage): void {
    this.#total = sumBounded(this.#total, [usage]);
  }

  /** The sum for the next commit; `undefined` when it is on record, or is `before`: that of a commit that is not sent yet. */
  uncommitted(before: Usage = this.#onRecord): Usage | undefined {
    return this.#total === before ? undefined : this.#total;
  }

  /** The tokens since the last commit, or since `before`, of all models together. */
  sinceCommit(before: Usage = this.#onRecord): ReturnType<typeof totalOf> {
    return totalOf(this.#total === before ? noUsage : addedSince(before, this.#total));
  }

  /** The sum is on record. Gives what it adds to the one before. */
  committed(sum: Usage): Usage {
    const added = addedSince(this.#onRecord, sum);
    this.#onRecord = sum;
    return added;
  }
}

function addedSince(before: Usage, after: Usage): Usage {
  const known = new Map(before.map((one) => [one.model, one]));
  return after.map(({ model, inputTokens, outputTokens, finishReasons }) => {
    const earlier = known.get(model);
    const reasons = combineFinishes(finishReasons, earlier?.finishReasons, (all, before) => all - before);
    return {
      model,
      inputTokens: inputTokens - (earlier?.inputTokens ?? 0),
      outputTokens: outputTokens - (earlier?.outputTokens ?? 0),
      ...(reasons && { finishReasons: reasons }),
    };
  });
}
