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

/** The tokens of one claimed run. Each commit writes the sum up to it, so that a commit which is repeated counts once. */
export interface RunUsage {
  /** @throws RunFailure when the run has used too many models. */
  readonly add: (usage: ModelUsage) => void;
  /** Those of the committed steps, and of the one that runs now. */
  readonly total: () => Usage;
  /** The sum for the next commit; `undefined` when it is on record, or is `before`: that of a commit that is not sent yet. */
  readonly uncommitted: (before?: Usage) => Usage | undefined;
  /** The tokens since the last commit, or since `before`, of all models together. */
  readonly sinceCommit: (before?: Usage) => ReturnType<typeof totalOf>;
  /** The sum is on record. Gives what it adds to the one before. */
  readonly committed: (sum: Usage) => Usage;
}

/** Goes on from what the run's earlier claims have committed. */
export function createRunUsage({ usageJson }: Pick<ClaimedRun, 'usageJson'>): RunUsage {
  let total = fromUsageJson(usageJson);
  let onRecord = total;
  return {
    add: (usage) => {
      total = sumBounded(total, [usage]);
    },
    total: () => total,
    uncommitted: (before = onRecord) => (total === before ? undefined : total),
    sinceCommit: (before = onRecord) => totalOf(total === before ? noUsage : addedSince(before, total)),
    committed: (sum) => {
      const added = addedSince(onRecord, sum);
      onRecord = sum;
      return added;
    },
  };
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
