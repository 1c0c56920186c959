import test from 'ava';
import type { Change } from '../ports/changes.ts';
import type { Checkpoint, Head } from '../ports/record.ts';
import { pruned } from './retention.ts';

const checkpoint: Checkpoint = { source: 'step', nodes: [], next: [], at: 0, undo: new Uint8Array() };

const headOf = (version: number): Head => ({
  ...{ createdAt: 0, updatedAt: 0, version, epoch: 1, step: 0, queue: [], nextPosition: 0, openCalls: [], next: [] },
  ...{ openInterrupts: [], size: { fields: 0, context: 0 }, claims: 0, deleting: false },
});

/** Up to which version checkpoints are dropped with a change to this version, when two are kept. */
const droppedTo = (version: number, parts: Partial<Change> = {}): number | undefined =>
  pruned({ change: { head: headOf(version), checkpoint, ...parts }, reply: undefined }, 2).change?.dropCheckpointsTo;

test('checkpoints are dropped once in sixteen versions', (t) => {
  t.deepEqual(
    Array.from({ length: 33 }, (_, index) => droppedTo(index + 1)).flatMap((to) => to ?? []),
    [14, 30],
  );
});

test('they are also dropped with a change whose first step has that version', (t) => {
  const passed = { version: 32, checkpoint, positions: [] };
  t.is(droppedTo(33), undefined);
  t.is(droppedTo(33, { passed }), 31);
  t.is(droppedTo(34, { passed: { ...passed, version: 33 } }), undefined);
});
