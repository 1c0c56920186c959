import type { Change } from '../ports/changes.ts';
import type { Checkpoint } from '../ports/record.ts';

/** The checkpoints that a change makes, with their versions, the older first. */
export function checkpointsOf({ head, checkpoint, passed }: Change): readonly (readonly [number, Checkpoint])[] {
  const last = checkpoint ? [[head.version, checkpoint] as const] : [];
  return passed ? [[passed.version, passed.checkpoint], ...last] : last;
}

/** The version that the message at a position gets from a change; `undefined` when the change makes no checkpoint. */
export function versionsPut({ head, checkpoint, passed }: Change): (position: number) => number | undefined {
  if (!checkpoint) return () => undefined;
  if (!passed) return () => head.version;
  const earlier = new Set(passed.positions);
  return (position) => (earlier.has(position) ? passed.version : head.version);
}
