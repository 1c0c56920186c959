import { invalid } from '@agent-workflow/kit/errors';
import { fieldOf, isObject, readObject, type JsonObject } from './json.ts';

/** What the `options` of a search may say to its strategy. */
export interface SearchOptions {
  /** graph_traversal: how many steps to go. */
  readonly depth: number;
  /** graph_traversal: how many memories to begin at. */
  readonly seeds: number;
  /** graph_traversal: what is left of a score after one step. */
  readonly decay: number;
  /** hybrid: the vector's share; the rest is the keywords'. */
  readonly alpha: number;
  /** relevance: the weight of each part, in any unit. */
  readonly weights: Weights;
  /** relevance: days after which one half of the recency is left. */
  readonly halfLifeDays: number;
}

interface Weights {
  readonly similarity: number;
  readonly recency: number;
  readonly importance: number;
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly whole?: boolean;
}

const defaults = { depth: 2, seeds: 3, decay: 0.8, alpha: 0.5 } as const;
const defaultWeights: Weights = { similarity: 0.75, recency: 0.15, importance: 0.1 };

/**
 * Reads `options`; names it does not know are ignored.
 * @throws Invalid at the option that is out of range.
 */
export function readSearchOptions(json: Uint8Array | undefined, halfLifeDays: number): SearchOptions {
  const options = json === undefined ? {} : readObject(json, ['options']);
  const number = (name: string, fallback: number, range: Range): number =>
    readNumber(options, name, fallback, range, ['options']);
  return {
    depth: number('depth', defaults.depth, { min: 0, max: 10, whole: true }),
    seeds: number('seeds', defaults.seeds, { min: 1, max: 100, whole: true }),
    decay: number('decay', defaults.decay, { min: 0, max: 0.99 }),
    alpha: number('alpha', defaults.alpha, { min: 0, max: 1 }),
    weights: readWeights(fieldOf(options, 'weights')),
    halfLifeDays: number('half_life_days', halfLifeDays, { min: 1e-6, max: 1e6 }),
  };
}

function readWeights(given: unknown): Weights {
  if (given === undefined || given === null) return defaultWeights;
  const at = ['options', 'weights'];
  if (!isObject(given)) throw invalid(at, 'must be a JSON object', 'object_type');
  const weight = (name: keyof Weights): number =>
    readNumber(given, name, defaultWeights[name], { min: 0, max: 1e6 }, at);
  return { similarity: weight('similarity'), recency: weight('recency'), importance: weight('importance') };
}

function readNumber(
  object: JsonObject,
  name: string,
  fallback: number,
  { min, max, whole = false }: Range,
  at: readonly string[],
): number {
  const value = fieldOf(object, name) ?? fallback;
  if (typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  const kind = whole ? 'a whole number' : 'a number';
  throw invalid([...at, name], `must be ${kind} from ${String(min)} to ${String(max)}`);
}
