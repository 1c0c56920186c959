import type { DistanceMetric } from '@agent-workflow/protos/lists';
import type { Measure } from '../ports/port.ts';

interface Metric {
  /** What the store is asked to measure. */
  readonly measure: Measure;
  /** From what it measured to a score of 0 to 1. */
  readonly score: (closeness: number) => number;
  /** The least closeness that has this score, which is above 0. Rounding makes it a little too small, never too great. */
  readonly closeness: (score: number) => number;
}

/** What rounding may do to a number of the size of these. */
const slack = 1e-12;

const byAngle: Metric = {
  measure: 'dot',
  score: (dot) => clamp((1 + dot) / 2),
  closeness: (score) => 2 * score - 1 - slack,
};
const byDistance = (measure: Measure): Metric => ({
  measure,
  score: (closeness) => clamp(1 / (1 - closeness)),
  closeness: (score) => (1 - 1 / score) * (1 + slack) - slack,
});

/** Vectors have unit length, so that cosine and dot product are one thing. */
export const metrics: Readonly<Record<DistanceMetric, Metric>> = {
  cosine: byAngle,
  dot_product: byAngle,
  euclidean: byDistance('euclidean'),
  manhattan: byDistance('manhattan'),
};

/** How much of its freshness a memory still has: 1 now, one half after each half-life. */
export const recency = (ageMs: number, halfLifeMs: number): number => clamp(0.5 ** (Math.max(0, ageMs) / halfLifeMs));

const neutralImportance = 0.5;

/** What `metadata.importance` says, held to 0 to 1; one half when it says nothing. */
export const importance = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? clamp(value) : neutralImportance;

/** The mean of parts of 0 to 1, by weight; 0 when no weight is left. */
export function blend(parts: readonly (readonly [value: number, weight: number])[]): number {
  const weights = parts.reduce((sum, [, weight]) => sum + weight, 0);
  if (weights === 0) return 0;
  return clamp(parts.reduce((sum, [value, weight]) => sum + value * weight, 0) / weights);
}

/**
 * A vector made one of length 1; all zeros stay so, near to nothing.
 * The sum is taken in double precision, so that its rounding does not show in a score.
 */
export function toUnit(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) return vector;
  const scale = 1 / Math.sqrt(squares);
  return vector.map((value) => value * scale);
}

const decimals = 7;
const scale = 10 ** decimals;
const longestNumber = '-0.,'.length + decimals;
const [zero, point, minus, comma] = Buffer.from('0.-,') as unknown as [number, number, number, number];

/**
 * The numbers of a unit vector as a JSON array, as replies carry it: seven decimals, what single precision holds of them.
 * Written digit by digit, which takes a tenth of what printing floating-point numbers does.
 */
export function vectorToJson(vector: Float32Array): Uint8Array {
  const json = Buffer.allocUnsafe(vector.length * longestNumber + 2);
  let end = json.write('[');
  for (const [index, value] of vector.entries()) {
    if (index > 0) json[end++] = comma;
    end = writeNumber(json, end, Math.round(value * scale));
  }
  end += json.write(']', end);
  return Uint8Array.prototype.slice.call(json, 0, end);
}

/** Writes `parts / scale`; gives where it ends. */
function writeNumber(json: Uint8Array, start: number, parts: number): number {
  let end = start;
  if (parts < 0) json[end++] = minus;
  let rest = Math.abs(parts);
  const whole = Math.floor(rest / scale);
  json[end++] = zero + whole;
  rest -= whole * scale;
  if (rest === 0) return end;
  json[end++] = point;
  for (let unit = scale / 10; rest > 0; unit /= 10) {
    const digit = Math.floor(rest / unit);
    json[end++] = zero + digit;
    rest -= digit * unit;
  }
  return end;
}

const clamp = (value: number): number => Math.min(1, Math.max(0, value));
