import { availableParallelism, loadavg } from 'node:os';

/**
 * How long to wait here for what takes at most `ms` on a machine with nothing else to do: so many times longer as more processes want to run than there are
 * processors. Bounds of time in tests go through it; they say that something hangs, never how quick it is.
 */
export const byLoad = (ms: number): number => Math.round(ms * slowness(loadavg()[0] ?? 0, availableParallelism()));

/** Beyond this a run is of no use to anybody, and ends. */
const mostSlowness = 20;

/** @returns at least 1. */
export const slowness = (load: number, processors: number): number =>
  Math.min(mostSlowness, Math.max(1, load / processors));
