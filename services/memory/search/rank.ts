import type { DistanceMetric } from '@agent-workflow/protos/lists';
import type { Measure } from '../ports/search.ts';

interface Metric {
  /** The distance that the store measures. */
  readonly measure: Measure;
  /** The score of a distance: 0 to 1. */
  readonly scoreOf: (distance: number) => number;
  /** The largest distance that has a score above 0. Rounding may make it a little too large, never too small. */
  readonly distanceOf: (score: number) => number;
}

/** The largest rounding error of a number of about 1. */
const slack = 1e-12;

/**
 * How far a vector may be from itself by angle: its numbers have single precision, and its length is not exactly 1 therefore. Measured
 * are 3e-8 on SQLite and 2.4e-7 on Weaviate.
 */
const sameAngle = 1e-6;

const byAngle: Metric = {
  measure: 'dot',
  scoreOf: (distance) => (distance <= sameAngle - 1 ? 1 : clamp((1 - distance) / 2)),
  distanceOf: (score) => Math.max(1 - 2 * score + slack, sameAngle - 1),
};
const byLength = (measure: Measure): Metric => ({
  measure,
  scoreOf: (distance) => clamp(1 / (1 + distance)),
  distanceOf: (score) => (1 / score - 1) * (1 + slack) + slack,
});

/** Vectors have unit length, so cosine and dot product are the same. */
export const metrics: Readonly<Record<DistanceMetric, Metric>> = {
  cosine: byAngle,
  dot_product: byAngle,
  euclidean: byLength('euclidean'),
  manhattan: byLength('manhattan'),
};

/** 1 for a memory of now, one half after each half-life. */
export const recency = (ageMs: number, halfLifeMs: number): number => clamp(0.5 ** (Math.max(0, ageMs) / halfLifeMs));

const neutralImportance = 0.5;

/** The number in `metadata.importance`, clamped to 0 to 1; one half when there is none. */
export const importance = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? clamp(value) : neutralImportance;

/** The weighted mean of values of 0 to 1; 0 when all weights are 0. */
export function blend(parts: readonly (readonly [value: number, weight: number])[]): number {
  const weights = parts.reduce((sum, [, weight]) => sum + weight, 0);
  if (weights === 0) return 0;
  return clamp(parts.reduce((sum, [value, weight]) => sum + value * weight, 0) / weights);
}

const clamp = (value: number): number => Math.min(1, Math.max(0, value));
