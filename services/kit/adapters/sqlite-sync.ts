import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, writeSync } from 'node:fs';

/** A write that is in the file, and whoever waits for it to be on disk. */
export interface Written {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Puts what is in the write-ahead log on disk, and says so to whoever waits for it. */
export interface LogSync extends Disposable {
  /** `writes` have been committed to the log; each settles once the log, as it is now, is on disk. */
  readonly settle: (writes: readonly Written[]) => void;
}

/**
 * Syncs the log beside the event loop, so that requests go on meanwhile and whatever they commit shares the next sync. A
 * lone writer is synced in line: with nobody to share with, the way to another thread and back would only make it slower.
 */
export function openLogSync(path: string, onBroken: (error: unknown) => void): LogSync {
  const fd = openSync(`${path}-wal`, 'r+');
  reserve(fd);
  let unsynced: Written[] = [];
  let syncing: readonly Written[] = [];
  let lastShared = false;

  const finish = (error: unknown): void => {
    const group = syncing;
    syncing = [];
    if (error) {
      // After a failed sync the system may call lost pages clean: nothing that is written from here on can be trusted.
      onBroken(error);
      for (const write of [...group, ...unsynced.splice(0)]) write.reject(error);
      return;
    }
    for (const write of group) write.resolve();
    if (unsynced.length > 0) start();
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
      unsynced.push(...writes);
      if (syncing.length === 0) start();
    },
    [Symbol.dispose]: () => {
      const rest = [...syncing, ...unsynced];
      syncing = [];
      unsynced = [];
      try {
        fdatasyncSync(fd);
        for (const write of rest) write.resolve();
      } catch (error) {
        onBroken(error);
        for (const write of rest) write.reject(error);
      } finally {
        closeSync(fd);
      }
    },
  };
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
