import type { Decision } from '../ports/changes.ts';
import { checkpointsOf } from '../record/versions.ts';

/** Checkpoints are dropped once in so many versions of a thread, because a store may pay for every range that it drops. */
const prunedEvery = 16;

/**
 * Drops, now and then, checkpoints of versions that are further back than `keep`. Those from the version on that the run which
 * holds the thread found stay, so that it can be rolled back however many steps it takes.
 */
export function pruned<T>(decision: Decision<T>, keep: number): Decision<T> {
  const { change } = decision;
  if (!change || !checkpointsOf(change).some(([made]) => made % prunedEvery === 0)) return decision;
  const { version, foundVersion = version } = change.head;
  return { ...decision, change: { ...change, dropCheckpointsTo: Math.min(version - keep, foundVersion - 1) } };
}
