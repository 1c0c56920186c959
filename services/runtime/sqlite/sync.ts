import { cutTornLog, rewriteLog } from './log.ts';
import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, writeSync } from 'node:fs';

/** A write that has been committed to the log, and its caller, who waits for it to be on disk. */
export interface Written {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Puts what is in the write-ahead log on disk, and settles the writes that wait for that. */
interface LogSync extends Disposable {
  /** `writes` have been committed to the log; each settles once the log, as it is now, is on disk. */
  readonly settle: (writes: readonly Written[]) => void;
}

/** How the log's syncs do. */
interface LogSyncOptions {
  /** How many frames of the log SQLite counts as written. */
  readonly frames: () => number;
  /** A sync failed, or could not be made good: what waits for it is not known to be on disk. */
  readonly onBroken: (error: unknown) => void;
  /** All that is in the log is on disk again. */
  readonly onMended: () => void;
}

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
export function openLogSync(path: string, { frames, onBroken, onMended }: LogSyncOptions): LogSync {
  const fd = openSync(`${path}-wal`, 'r+');
  openOrClose(fd);
  let mending: NodeJS.Timeout | undefined;
  let broken: unknown;
  let unsynced: Written[] = [];
  let syncing: readonly Written[] = [];
  let lastShared = false;
  let isClosed = false;

  const finish = (error: unknown): void => {
    // Every caller has been answered, and the descriptor may be another file's by now.
    if (isClosed) return;
    const group = syncing;
    syncing = [];
    if (error) {
      breakOff(error);
      for (const write of [...group, ...unsynced.splice(0)]) write.reject(error);
      return;
    }
    for (const write of group) write.resolve();
    if (unsynced.length > 0) start();
  };

  const breakOff = (error: unknown): void => {
    broken = error;
    onBroken(error);
    mending ??= setInterval(mend, mendMs).unref();
  };
  const mend = (): void => {
    try {
      if (rewriteLog(fd) < frames()) return;
    } catch (error) {
      onBroken(error);
      return;
    }
    clearInterval(mending);
    mending = undefined;
    onMended();
  };
  const cut = (): void => {
    try {
      cutTornLog(fd, frames());
    } catch (error) {
      onBroken(error);
    }
  };
  const start = (): void => {
    syncing = unsynced;
    unsynced = [];
    const shared = syncing.length > 1;
    const alone = !shared && !lastShared;
    lastShared = shared;
    if (!alone) {
      fdatasync(fd, finish);
      return;
    }
    try {
      fdatasyncSync(fd);
    } catch (error) {
      finish(error);
      return;
    }
    finish(null);
  };

  return {
    settle: (writes) => {
      // A sync that succeeds now would say nothing of what stands before these in the log.
      if (mending) {
        for (const write of writes) write.reject(broken);
        return;
      }
      unsynced.push(...writes);
      if (syncing.length === 0) start();
    },
    [Symbol.dispose]: () => {
      isClosed = true;
      clearInterval(mending);
      const rest = [...syncing, ...unsynced];
      syncing = [];
      unsynced = [];
      let isSound = mending === undefined;
      try {
        fdatasyncSync(fd);
        for (const write of rest) write.resolve();
      } catch (error) {
        isSound = false;
        onBroken(error);
        for (const write of rest) write.reject(error);
      }
      if (!isSound) cut();
      closeSync(fd);
    },
  };
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
