import { bytesOver, jsonQuotes } from '@agent-workflow/kit/sizes';
import {
  addTokens,
  combineFinishes,
  finishReasons,
  noUsage,
  type FinishReason,
  type ModelUsage,
  type Usage,
} from '@agent-workflow/protos/usage';
import { RunFailure } from './failure.ts';

/** The models of one usage (a count). */
const maxModels = 64;
/** The name of a model, in bytes of JSON without its quotes. */
const maxModelBytes = 256;

/** What code reports of one answer of a model: its tokens and why it ended, or one of both. */
export type UsageReport =
  | (Pick<ModelUsage, 'model' | 'inputTokens' | 'outputTokens'> & { readonly finishReason?: FinishReason | undefined })
  | { readonly finishReason: FinishReason };

/**
 * Reads what the code of an author gave to `ctx.usage`. Members beyond the four are dropped, so that the usage part of a model's answer
 * can be given as it is. A reason without tokens counts for no model.
 * @throws TypeError or RangeError that names the member.
 */
export function readUsage(given: unknown): Usage {
  if (typeof given !== 'object' || given === null) throw new TypeError('usage() takes an object');
  const { model, inputTokens, outputTokens, finishReason } = given as Readonly<Record<string, unknown>>;
  const reason = finishReason === undefined ? undefined : readReason(finishReason);
  if (reason && model === undefined) return noUsage;
  return [
    {
      model: readModel(model),
      inputTokens: readTokens('inputTokens', inputTokens),
      outputTokens: readTokens('outputTokens', outputTokens),
      ...(reason && { finishReasons: { [reason]: 1 } }),
    },
  ];
}

function readReason(given: unknown): FinishReason {
  const reason = finishReasons.find((one) => one === given);
  if (!reason) throw new RangeError(`usage(): finishReason must be one of ${finishReasons.join(', ')}`);
  return reason;
}

function readModel(model: unknown): string {
  if (typeof model !== 'string' || model === '') throw new TypeError('usage(): model must be a text that is not empty');
  // A text of half characters has no bytes of UTF-8: the record would give back another name.
  if (!model.isWellFormed()) throw new TypeError('usage(): model must be a text of whole characters');
  const bytes = Buffer.byteLength(JSON.stringify(model)) - jsonQuotes;
  if (bytes > maxModelBytes) throw new RangeError(`usage(): model has ${bytesOver(bytes, maxModelBytes)}`);
  return model;
}

function readTokens(name: string, tokens: unknown): number {
  if (Number.isSafeInteger(tokens) && (tokens as number) >= 0) return tokens as number;
  throw new RangeError(`usage(): ${name} must be a whole number from 0 to ${String(Number.MAX_SAFE_INTEGER)}`);
}

/** The sum by model. */
export function sumUsage(...usages: readonly Usage[]): Usage {
  const sums = new Map<string, ModelUsage>();
  for (const one of usages.flat()) {
    const before = sums.get(one.model);
    sums.set(one.model, before ? add(before, one) : one);
  }
  return [...sums.values()].toSorted(({ model: a }, { model: b }) => (a < b ? -1 : 1));
}

function add(one: ModelUsage, other: ModelUsage): ModelUsage {
  const reasons = combineFinishes(one.finishReasons, other.finishReasons);
  return {
    model: one.model,
    inputTokens: addTokens(one.inputTokens, other.inputTokens),
    outputTokens: addTokens(one.outputTokens, other.outputTokens),
    ...(reasons && { finishReasons: reasons }),
  };
}

/**
 * The sum by model.
 * @throws RunFailure when it has more than 64 models.
 */
export function sumBounded(...usages: readonly Usage[]): Usage {
  const sum = sumUsage(...usages);
  if (sum.length > maxModels)
    throw new RunFailure('NodeFailed', `usage(): the run names more than ${String(maxModels)} models`);
  return sum;
}
