import { conflict } from '@agent-workflow/kit/errors';
import type { Change } from '../ports/changes.ts';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import type { Undone } from '../history/overlay.ts';
import { joined, marked, restored } from '../history/restore.ts';
import { excessOfRollback } from '../history/undo.ts';
import { withoutRun } from './commit.ts';
import { committedIterations } from './revision.ts';

export interface Rollback {
  /** The head of the thread as that run found it; no run holds it, and its queue is kept. */
  readonly head: Head;
  readonly stopped: RunRecord;
  /** Puts fields, context and log back; its head is for the caller to complete. */
  readonly change: Change;
}

/**
 * Undoes what the run that holds the thread has changed since its first claim. Its checkpoints go with it: the one checkpoint of
 * the rollback holds what all of them overwrote, so that it still leads back to every version before them.
 * @returns `undefined` when there is nothing to undo: the run was never claimed.
 * @throws Conflict when a store that forgets by age has forgotten some of it: half a rollback would be a state that never was.
 */
export function rollBack({ overlay, oldest }: Undone, before: Head, run: RunRecord, now: number): Rollback | undefined {
  const { foundVersion } = before;
  const { mark } = overlay;
  if (foundVersion === undefined) return undefined;
  // The claim itself made the first version that is to be undone, and what is forgotten is the oldest.
  if (oldest() !== foundVersion + 1)
    throw conflict(`multitask_strategy: run "${run.runId}" began too long ago to be rolled back; interrupt it instead`);
  if (!mark) return undefined;
  const head: Head = {
    ...marked(withoutRun(before), mark),
    version: before.version + 1,
    epoch: before.epoch + 1,
    claims: 0,
    updatedAt: now,
  };
  const end = {
    status: 'stopped',
    iterations: committedIterations(before, run),
    recursionLimitReached: false,
  } as const;
  // What it added is gone: where its output began is where it ends.
  const output = run.outputFrom === undefined ? {} : { outputTo: run.outputFrom };
  return {
    head,
    stopped: { ...run, status: 'stopped', updatedAt: now, end, ...output },
    change: {
      head,
      ...restored(overlay),
      deletedFrom: mark.nextPosition,
      dropCheckpointsAfter: foundVersion,
      checkpoint: {
        source: 'rollback',
        runId: run.runId,
        nodes: [],
        next: head.next,
        at: now,
        undo: joined(overlay, mark),
      },
    },
  };
}

/**
 * Refuses a rollback that is more than one change: half of it would be a state that never was. `change` is all that it writes, except for the
 * run that it stops, whose options and input stay as they are.
 * @throws Conflict naming the rows or bytes and their bound.
 */
export function refuseLargeRollback(change: Change, stopped: RunRecord, thread: ThreadKey): void {
  const excess = excessOfRollback(change, thread);
  if (excess === undefined) return;
  throw conflict(
    `multitask_strategy: a rollback of run "${stopped.runId}" would write ${excess}; interrupt it instead`,
  );
}
