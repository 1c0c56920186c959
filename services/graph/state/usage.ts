import { bytesOver, jsonQuotes } from '@agent-workflow/kit/sizes';
import { addTokens, type ModelUsage, type Usage } from '@agent-workflow/protos/usage';
import { RunFailure } from './failure.ts';

/** The models of one usage (a count). */
const maxModels = 64;
/** The name of a model, in bytes of JSON without its quotes. */
const maxModelBytes = 256;

/**
 * Reads what the code of an author gave to `ctx.usage`. Members beyond the three are dropped, so that the usage part of a model's answer
 * can be given as it is.
 * @throws TypeError or RangeError that names the member.
 */
export function readUsage(given: unknown): ModelUsage {
  if (typeof given !== 'object' || given === null) throw new TypeError('usage() takes an object');
  const { model, inputTokens, outputTokens } = given as Partial<Record<keyof ModelUsage, unknown>>;
  return {
    model: readModel(model),
    inputTokens: readTokens('inputTokens', inputTokens),
    outputTokens: readTokens('outputTokens', outputTokens),
  };
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

const add = (one: ModelUsage, other: ModelUsage): ModelUsage => ({
  model: one.model,
  inputTokens: addTokens(one.inputTokens, other.inputTokens),
  outputTokens: addTokens(one.outputTokens, other.outputTokens),
});

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
