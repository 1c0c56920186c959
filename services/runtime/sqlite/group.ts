import type { StatementSync } from 'node:sqlite';
import { ServiceError } from '@agent-workflow/kit/errors';
import { primaryCode } from './errors.ts';

/** A write that waits for the next transaction. */
export interface Pending {
  readonly run: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What became of a group. */
export interface Outcome {
  /** These are in the log now. */
  readonly written: readonly Pending[];
  /** Nothing of these was written. */
  readonly refused: readonly (readonly [Pending, unknown])[];
}

type Prepare = (sql: string) => StatementSync;

/**
 * Commits a group in one transaction, however many runs commit in this tick. When that fails, the group is tried again so that
 * only the writes fail that are at fault: a write refused by its own decision is undone alone, behind a savepoint, because
 * refusals are common enough to be cheap; after any other failure each write has a transaction of its own, because SQLite may
 * have undone the whole transaction (a disk that is full in the middle of it), and the COMMIT itself may be what fails.
 */
export function commitGroup(group: readonly Pending[], prepare: Prepare): Outcome {
  try {
    return inTransaction(prepare, () => {
      for (const pending of group) pending.run();
      return { written: group, refused: [] };
    });
  } catch (error) {
    // Whoever holds the file would make each of them wait.
    if (group.length === 1 || primaryCode(error) === sqliteBusy)
      return { written: [], refused: group.map((pending) => [pending, error]) };
    return error instanceof ServiceError ? behindSavepoints(group, prepare) : oneByOne(group, prepare);
  }
}

const sqliteBusy = 5;

function behindSavepoints(group: readonly Pending[], prepare: Prepare): Outcome {
  try {
    return inTransaction(prepare, () => {
      const refused: [Pending, unknown][] = [];
      const written = group.filter((pending) => {
        const refusal = runBehindSavepoint(pending, prepare);
        if (refusal) refused.push([pending, refusal]);
        return !refusal;
      });
      return { written, refused };
    });
  } catch {
    return oneByOne(group, prepare);
  }
}

/** Gives why the write was refused, if it was; its own writes are undone then. */
function runBehindSavepoint(pending: Pending, prepare: Prepare): ServiceError | undefined {
  prepare('SAVEPOINT work').run();
  try {
    pending.run();
    prepare('RELEASE work').run();
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    prepare('ROLLBACK TO work').run();
    prepare('RELEASE work').run();
    return error;
  }
}

function oneByOne(group: readonly Pending[], prepare: Prepare): Outcome {
  const written: Pending[] = [];
  const refused: [Pending, unknown][] = [];
  for (const pending of group) {
    try {
      inTransaction(prepare, pending.run);
      written.push(pending);
    } catch (error) {
      refused.push([pending, error]);
    }
  }
  return { written, refused };
}

/** Runs `work` in a transaction; when anything fails, nothing of it is written. */
function inTransaction<T>(prepare: Prepare, work: () => T): T {
  try {
    prepare('BEGIN IMMEDIATE').run();
    const result = work();
    prepare('COMMIT').run();
    return result;
  } catch (error) {
    rollBack(prepare);
    throw error;
  }
}

function rollBack(prepare: Prepare): void {
  try {
    prepare('ROLLBACK').run();
  } catch {
    // BEGIN itself had failed, or SQLite has rolled back by itself: there is nothing to undo.
  }
}
