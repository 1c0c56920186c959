import { nameOf } from '../state/name-of.ts';

/** How a search of memories finds and orders its results. A test holds these lists to those of the memory service. */
export const memoryStrategies = ['similarity', 'temporal', 'relevance', 'hybrid', 'graph_traversal'] as const;
export type MemoryStrategy = (typeof memoryStrategies)[number];

export const distanceMetrics = ['cosine', 'euclidean', 'dot_product', 'manhattan'] as const;
export type DistanceMetric = (typeof distanceMetrics)[number];

export const memoryTypes = [
  'episodic',
  'semantic',
  'procedural',
  'entity',
  'relationship',
  'custom',
  'declarative',
] as const;
export type MemoryType = (typeof memoryTypes)[number];

/** @throws TypeError for what JavaScript lets pass: a value that is none of the list. The memory service refuses it too. */
export function requireListed(name: string, list: readonly string[], value: unknown): void {
  if (value === undefined || list.some((known) => known === value)) return;
  const given = typeof value === 'string' ? `"${value}"` : nameOf(value);
  throw new TypeError(`${name} must be one of ${list.join(', ')}, not ${given}`);
}
