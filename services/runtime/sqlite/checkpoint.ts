import { Worker } from 'node:worker_threads';
import { backoffMs, type Backoff } from '@agent-workflow/kit/retry';
import type { CheckpointReply } from './checkpoint-thread.ts';

/** Bytes of pages after which a log is copied into its file: it then starts over, within the room that was reserved for it. */
const bytesPerCheckpoint = 800 * 4096;
/** Writes between two checks of how far the log has grown. */
const writesPerCheck = 16;
/** The wait before a checkpoint that failed is tried again. */
const backoff: Backoff = { firstMs: 500, maxMs: 10_000, jitter: 0 };

let thread: Worker | undefined;
let users = 0;
/** Files whose logs are being copied, and who takes the thread's reply. */
const underWay = new Map<string, (error: unknown) => void>();

interface Log {
  /** Whether its frames are known to be what was written: SQLite copies them without checking their checksums. */
  readonly isSound: () => boolean;
  /** How many bytes of its pages are not in the file yet. */
  readonly unsettledBytes: () => number;
  /** Called when most of the log has been copied: what is left is little, and only the writer itself can end it. */
  readonly finish: () => void;
  /** Called for each checkpoint that failed. */
  readonly onFailure: (error: unknown) => void;
  /** Called when one succeeds after failures. */
  readonly onSuccess: () => void;
}

/**
 * Copies the write-ahead log into the file, on a thread of its own: it copies and syncs for tens of milliseconds, in which
 * the event loop would be blocked. The thread is made when a log first grows, and is shared by all files. A checkpoint that
 * fails is tried again after a pause that grows; the log grows meanwhile.
 */
export class Checkpointer implements Disposable {
  readonly #path: string;
  readonly #log: Log;
  #writes = 0;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
    users++;
  }

  /** A group of `writes` has been committed. */
  note(writes: number): void {
    this.#writes += writes;
    if (this.#writes < writesPerCheck || this.#retry || underWay.has(this.#path)) return;
    this.#writes = 0;
    if (this.#isLong()) this.#begin();
  }

  #isLong(): boolean {
    try {
      return this.#log.unsettledBytes() >= bytesPerCheckpoint;
    } catch {
      // The checkpoint says why.
      return true;
    }
  }

  readonly #begin = (): void => {
    if (!this.#log.isSound()) {
      this.#retry = setTimeout(this.#begin, backoff.maxMs).unref();
      return;
    }
    this.#retry = undefined;
    underWay.set(this.#path, this.#settle);
    try {
      threadOf().postMessage(this.#path);
    } catch (error) {
      this.#settle(error);
    }
  };

  readonly #settle = (failure: unknown): void => {
    underWay.delete(this.#path);
    const { isSound, finish, onFailure, onSuccess } = this.#log;
    const error = failure ?? (isSound() ? failureOf(finish) : undefined);
    if (error === undefined) {
      if (this.#failures > 0) onSuccess();
      this.#failures = 0;
      return;
    }
    onFailure(error);
    this.#retry = setTimeout(this.#begin, backoffMs(backoff, ++this.#failures)).unref();
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#retry);
    underWay.delete(this.#path);
    if (--users > 0) return;
    void thread?.terminate();
    thread = undefined;
  }
}

function failureOf(work: () => void): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

function threadOf(): Worker {
  if (thread) return thread;
  const made = new Worker(new URL('./checkpoint-thread.ts', import.meta.url));
  made.on('message', ({ path, failure }: CheckpointReply) => {
    underWay.get(path)?.(failure && Object.assign(new Error(failure.message), { errcode: failure.errcode }));
  });
  made.on('error', (error: unknown) => {
    // The next checkpoint makes a new thread.
    if (thread === made) thread = undefined;
    for (const settle of [...underWay.values()]) settle(error);
  });
  made.unref();
  thread = made;
  return made;
}
