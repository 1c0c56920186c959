import type { StatementSync } from 'node:sqlite';
import { ServiceError } from '@agent-workflow/kit/errors';
import { primaryCode, storageError } from './errors.ts';

/** A write that waits for the next transaction. */
interface Pending {
  readonly run: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What became of a group. */
interface Outcome {
  /** These have been committed. */
  readonly written: readonly Pending[];
  /** Nothing of these was written. */
  readonly refused: readonly (readonly [Pending, unknown])[];
}

type Prepare = (sql: string) => StatementSync;

/** Commits the writes of one tick together. */
interface GroupCommit {
  /** `write` of a file. */
  readonly write: <T>(work: () => T) => Promise<T>;
  /** Commits what waits at once. */
  readonly flush: () => void;
  /** Whether the code that asks runs inside of a transaction. */
  readonly isCommitting: () => boolean;
}

interface GroupCommitOptions {
  readonly prepare: Prepare;
  /** Why no write is accepted at the moment; `undefined` while they are. */
  readonly refusal: () => ServiceError | undefined;
  /** Why nothing can be written; `undefined` when something can. It is called before each transaction. */
  readonly fault: () => Error | undefined;
  /** Called for each write of which nothing was written. */
  readonly onRefused: (error: unknown) => void;
  /** Takes the writes of one transaction after its COMMIT, and settles each. */
  readonly onWritten: (writes: readonly Pending[]) => void;
}

export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { prepare, refusal, fault, onRefused, onWritten } = options;
  let waiting: Pending[] = [];
  let isCommitting = false;

  const commit = (group: readonly Pending[]): Outcome => {
    const missing = fault();
    if (missing) return { written: [], refused: group.map((pending) => [pending, missing]) };
    isCommitting = true;
    try {
      return commitGroup(group, prepare);
    } finally {
      isCommitting = false;
    }
  };

  const flush = (): void => {
    const group = waiting;
    waiting = [];
    if (group.length === 0) return;
    const { written, refused } = commit(group);
    for (const [pending, error] of refused) {
      onRefused(error);
      pending.reject(error);
    }
    if (written.length > 0) onWritten(written);
  };

  return {
    write: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        const refused = refusal();
        if (refused) {
          reject(refused);
          return;
        }
        let result: T;
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({
          run: () => {
            result = work();
          },
          resolve: () => {
            resolve(result);
          },
          reject: (error) => {
            reject(storageError(error, 'the store cannot be written right now'));
          },
        });
      }),
    flush,
    isCommitting: () => isCommitting,
  };
}

/**
 * Commits a group in one transaction, however many runs commit in this tick. When that fails, the group is tried again so that
 * only the writes fail that are at fault: a write refused by its own decision is undone alone, behind a savepoint, because
 * refusals are common enough to be cheap; after any other failure each write has a transaction of its own, because SQLite may
 * have undone the whole transaction (a disk that is full in the middle of it), and the COMMIT itself may be what fails.
 */
function commitGroup(group: readonly Pending[], prepare: Prepare): Outcome {
  try {
    return inTransaction(prepare, () => {
      for (const pending of group) pending.run();
      return { written: group, refused: [] };
    });
  } catch (error) {
    // The process that holds the file would make each of them wait.
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
