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
  readonly prepare: (sql: string) => StatementSync;
  /** Why no write is accepted at the moment; `undefined` while they are. */
  readonly refusal: () => ServiceError | undefined;
  /** Why nothing can be written; `undefined` when something can. It is called before each transaction. */
  readonly fault: () => Error | undefined;
  /** Called for each write of which nothing was written. */
  readonly onRefused: (error: unknown) => void;
  /** Takes the writes of one transaction after its COMMIT, and settles each once it is on disk; `undefined`: they settle at once. */
  readonly settle: ((writes: readonly Pending[]) => void) | undefined;
  /** Called after each COMMIT with how many writes it held. */
  readonly onCommitted: (count: number) => void;
}

/** The statements around the writes of a group. */
type Frame = Readonly<Record<'begin' | 'commit' | 'rollback' | 'save' | 'release' | 'undo', StatementSync>>;

export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { prepare, refusal, fault, onRefused, settle, onCommitted } = options;
  const frame = {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    rollback: prepare('ROLLBACK'),
    save: prepare('SAVEPOINT work'),
    release: prepare('RELEASE work'),
    undo: prepare('ROLLBACK TO work'),
  };
  let waiting: Pending[] = [];
  let isCommitting = false;

  const commit = (group: readonly Pending[]): Outcome => {
    const missing = fault();
    if (missing) return { written: [], refused: group.map((pending) => [pending, missing]) };
    isCommitting = true;
    try {
      return commitGroup(group, frame);
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
    if (written.length === 0) return;
    if (settle) settle(written);
    else for (const pending of written) pending.resolve();
    // A sync in line has failed by now, if it does: then nothing is copied.
    onCommitted(written.length);
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
            // What was found may be the reason why no more is accepted.
            const found = error instanceof ServiceError ? error : refusal();
            reject(found ?? storageError(error, 'the store cannot be written right now'));
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
function commitGroup(group: readonly Pending[], frame: Frame): Outcome {
  try {
    return inTransaction(frame, () => {
      for (const pending of group) pending.run();
      return { written: group, refused: [] };
    });
  } catch (error) {
    // The process that holds the file would make each of them wait.
    if (group.length === 1 || primaryCode(error) === sqliteBusy)
      return { written: [], refused: group.map((pending) => [pending, error]) };
    return error instanceof ServiceError ? behindSavepoints(group, frame) : oneByOne(group, frame);
  }
}

const sqliteBusy = 5;

function behindSavepoints(group: readonly Pending[], frame: Frame): Outcome {
  try {
    return inTransaction(frame, () => {
      const refused: [Pending, unknown][] = [];
      const written = group.filter((pending) => {
        const refusal = runBehindSavepoint(pending, frame);
        if (refusal) refused.push([pending, refusal]);
        return !refusal;
      });
      return { written, refused };
    });
  } catch {
    return oneByOne(group, frame);
  }
}

/** Gives why the write was refused, if it was; its own writes are undone then. */
function runBehindSavepoint(pending: Pending, { save, release, undo }: Frame): ServiceError | undefined {
  save.run();
  try {
    pending.run();
    release.run();
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    undo.run();
    release.run();
    return error;
  }
}

function oneByOne(group: readonly Pending[], frame: Frame): Outcome {
  const written: Pending[] = [];
  const refused: [Pending, unknown][] = [];
  for (const pending of group) {
    try {
      inTransaction(frame, pending.run);
      written.push(pending);
    } catch (error) {
      refused.push([pending, error]);
    }
  }
  return { written, refused };
}

/** Runs `work` in a transaction; when anything fails, nothing of it is written. */
function inTransaction<T>(frame: Frame, work: () => T): T {
  try {
    frame.begin.run();
    const result = work();
    frame.commit.run();
    return result;
  } catch (error) {
    rollBack(frame);
    throw error;
  }
}

function rollBack({ rollback }: Frame): void {
  try {
    rollback.run();
  } catch {
    // BEGIN itself had failed, or SQLite has rolled back by itself: there is nothing to undo.
  }
}
