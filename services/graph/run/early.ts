import type { CompiledGraph } from '../build/graph.ts';
import type { Step } from './super-step.ts';

/**
 * Whether a step may begin before the step before it is on record: each of its nodes is speculative, and none continues what an
 * earlier step began. Joins that wait are no part of what its nodes do.
 */
export function mayBeginEarly(
  { policies }: CompiledGraph,
  { nodes, continuation = {} }: Pick<Step, 'nodes' | 'continuation'>,
): boolean {
  if (!nodes.every((name) => policies.get(name)?.speculative)) return false;
  return Object.keys(continuation).every((part) => part === 'joins');
}
