import type { DistanceMetric } from '@agent-workflow/protos/lists';

/** Each metric's score by its definition, from the vectors that replies carry. */
export const oracle: Readonly<Record<DistanceMetric, (a: readonly number[], b: readonly number[]) => number>> = {
  cosine: (a, b) => (1 + dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))) / 2,
  dot_product: (a, b) => (1 + dot(a, b)) / 2,
  euclidean: (a, b) => 1 / (1 + Math.sqrt(a.reduce((sum, value, i) => sum + (value - (b[i] ?? 0)) ** 2, 0))),
  manhattan: (a, b) => 1 / (1 + a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? 0)), 0)),
};
export const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
