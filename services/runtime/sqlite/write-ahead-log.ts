import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { Checkpointer } from './checkpoint.ts';
import type { Condition } from './condition.ts';
import { cutTornLog, rewriteLog } from './log.ts';

/** A write that has been committed to the log, and its caller, who waits for it to be on disk. */
interface Written {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The write-ahead log of a file: what is committed stands there, until it is on disk and later copied into the file. */
interface WriteAheadLog extends Disposable {
  /** Why nothing may be written; `undefined` while the log is sound. */
  readonly refusal: () => ServiceError | undefined;
  /** These writes have been committed. Each settles once it is on disk; `undefined` where the file promises no more than a COMMIT. */
  readonly settle: ((writes: readonly Written[]) => void) | undefined;
  /** So many writes have been committed: from time to time the log is copied into the file. */
  readonly note: (writes: number) => void;
}

interface WriteAheadLogOptions {
  readonly path: string;
  /** `full`: a write settles when it is on disk. `normal`: at once. */
  readonly durability: 'full' | 'normal';
  readonly condition: Pick<Condition, 'fails' | 'works'>;
}

/** Syncs and checkpoints the log of an open file. */
export function openWriteAheadLog(
  db: DatabaseSync,
  { path, durability, condition }: WriteAheadLogOptions,
): WriteAheadLog {
  using opening = new DisposableStack();
  const pageBytes = Number(db.prepare('PRAGMA page_size').get()?.['page_size']);
  const frames = (): Frames => {
    const row = db.prepare('PRAGMA wal_checkpoint(NOOP)').get();
    return { log: Number(row?.['log']), checkpointed: Number(row?.['checkpointed']) };
  };
  const sync = durability === 'full' ? opening.use(new LogSync(path, frames, condition)) : undefined;
  const checkpointer = opening.use(
    new Checkpointer(path, {
      isSound: () => sync?.refusal === undefined,
      unsettledBytes: () => {
        const { log, checkpointed } = frames();
        return (log - checkpointed) * pageBytes;
      },
      finish: () => {
        db.exec('PRAGMA wal_checkpoint(PASSIVE)');
      },
      onFailure: (error) => condition.fails('checkpoint', error),
      onSuccess: () => condition.works('checkpoint'),
    }),
  );
  const everything = opening.move();
  return {
    refusal: () => sync?.refusal,
    settle: sync && ((writes) => sync.settle(writes)),
    note: (writes) => checkpointer.note(writes),
    [Symbol.dispose]: () => everything.dispose(),
  };
}

/** How many frames of the log SQLite counts as written, and how many of them it has copied into the file. */
type Frames = Readonly<Record<'log' | 'checkpointed', number>>;

/** Milliseconds after a failed sync until the log is written again, and between two attempts. */
const mendMs = 1000;

/**
 * Syncs the log beside the event loop, so that requests go on meanwhile and whatever they commit shares the next sync. A
 * lone writer is synced in line: with nobody to share with, the way to another thread and back would only make it slower.
 *
 * After a sync that failed nothing in the log is known to be on disk, whatever later syncs say. So the log is written again, from
 * what the system still has of it, until that succeeds; nothing may be written meanwhile. Where the system has dropped a page the
 * file stays refused: SQLite's recovery at the next start leaves out the frames from there on, for which no caller was answered, and the log is
 * cut there before the file is closed. A process before this one may have ended after such a failure, so the log is written again at
 * each start, too.
 */
class LogSync implements Disposable {
  readonly #fd: number;
  readonly #frames: () => Frames;
  readonly #condition: WriteAheadLogOptions['condition'];
  /** Why nothing may be written. */
  refusal: ServiceError | undefined;
  #mending: NodeJS.Timeout | undefined;
  #broken: unknown;
  #unsynced: Written[] = [];
  #syncing: readonly Written[] = [];
  #lastShared = false;
  #isClosed = false;

  constructor(path: string, frames: () => Frames, condition: WriteAheadLogOptions['condition']) {
    this.#frames = frames;
    this.#condition = condition;
    this.#fd = openSync(`${path}-wal`, 'r+');
    openOrClose(this.#fd);
  }

  /** `writes` have been committed to the log; each settles once the log, as it is now, is on disk. */
  settle(writes: readonly Written[]): void {
    // A sync that succeeds now would say nothing of what stands before these in the log.
    if (this.#mending) {
      for (const write of writes) write.reject(this.#broken);
      return;
    }
    this.#unsynced.push(...writes);
    if (this.#syncing.length === 0) this.#start();
  }

  #start(): void {
    this.#syncing = this.#unsynced;
    this.#unsynced = [];
    const shared = this.#syncing.length > 1;
    const alone = !shared && !this.#lastShared;
    this.#lastShared = shared;
    if (!alone) {
      fdatasync(this.#fd, this.#finish);
      return;
    }
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      this.#finish(error);
      return;
    }
    this.#finish(null);
  }

  readonly #finish = (error: unknown): void => {
    // Every caller has been answered, and the descriptor may be another file's by now.
    if (this.#isClosed) return;
    const group = this.#syncing;
    this.#syncing = [];
    if (error) {
      this.#broken = error;
      this.#breaks(error);
      this.#mending ??= setInterval(this.#mend, mendMs).unref();
      for (const write of [...group, ...this.#unsynced.splice(0)]) write.reject(error);
      return;
    }
    for (const write of group) write.resolve();
    if (this.#unsynced.length > 0) this.#start();
  };

  /** What waits is not known to be on disk. */
  #breaks(error: unknown): void {
    this.#condition.fails('sync', error);
    this.refusal = unavailable('the store cannot be written right now', error);
  }

  readonly #mend = (): void => {
    try {
      if (rewriteLog(this.#fd) < this.#frames().log) return;
    } catch (error) {
      this.#breaks(error);
      return;
    }
    clearInterval(this.#mending);
    this.#mending = undefined;
    this.#condition.works('sync');
    this.refusal = undefined;
  };

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearInterval(this.#mending);
    const rest = [...this.#syncing, ...this.#unsynced.splice(0)];
    this.#syncing = [];
    let isSound = this.#mending === undefined;
    try {
      fdatasyncSync(this.#fd);
      for (const write of rest) write.resolve();
    } catch (error) {
      isSound = false;
      this.#breaks(error);
      for (const write of rest) write.reject(error);
    }
    if (!isSound) this.#cut();
    closeSync(this.#fd);
  }

  #cut(): void {
    try {
      cutTornLog(this.#fd, this.#frames().log);
    } catch (error) {
      this.#breaks(error);
    }
  }
}

function openOrClose(fd: number): void {
  try {
    rewriteLog(fd);
    reserve(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** A little more than what fills before a log is worked into its file. */
const reservedBytes = 4 * 1024 * 1024;

/**
 * Makes the log as large as it gets before it starts over. To sync bytes that need no new room on disk takes half the time,
 * because the file system has no record of its own to write. SQLite reads a log up to the first frame that does not check,
 * so the zeros say nothing.
 */
function reserve(fd: number): void {
  const zeros = Buffer.alloc(reservedBytes / 4);
  try {
    for (let { size } = fstatSync(fd); size < reservedBytes;) size += writeSync(fd, zeros, 0, undefined, size);
  } catch {
    // A disk without this room can still be read, and says so itself to whoever writes.
  }
}
