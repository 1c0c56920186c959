import { invalid } from '@agent-workflow/kit/errors';
import { fieldOf, isObject, readObject, type JsonObject } from './json.ts';

/** The `options` of a search, for its strategy. */
export interface SearchOptions {
  /** graph_traversal: how many steps to take. */
  readonly depth: number;
  /** graph_traversal: how many memories to begin at. */
  readonly seeds: number;
  /** graph_traversal: the factor of a score for each step. */
  readonly decay: number;
  /** hybrid: the share of the similarity; the rest is that of the keywords. */
  readonly alpha: number;
  /** relevance: the weight of each score in the mean. */
  readonly weights: Weights;
  /** relevance: days after which the recency is one half. */
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
 * Reads `options`; unknown names are ignored, except in `weights`, whose names are a closed list.
 * @throws Invalid at the option that is out of range, and at an unknown weight.
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
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(defaultWeights, name));
  if (unknown !== undefined)
    throw invalid([...at, unknown], `must be one of ${Object.keys(defaultWeights).join(', ')}`);
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
