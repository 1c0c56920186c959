import { Worker } from 'node:worker_threads';

/**
 * Works the write-ahead log into the file, on a thread of its own: it copies and syncs for tens of milliseconds, in which
 * the event loop would stand still. The thread is made when a log first grows, and is shared by all files.
 */
export interface Checkpointer extends Disposable {
  /** The log has grown: so many of its pages are not in the file yet. */
  readonly note: (pages: number) => void;
}

/** Pages after which a log is worked into its file: it then starts over, within the room that was reserved for it. */
const pagesPerCheckpoint = 900;

let thread: Worker | undefined;
let users = 0;
/** Files whose logs are being worked in, and what is to be done then. */
const underWay = new Map<string, () => void>();

/** `finish` is called when most of the log has been copied: what is left is little, and only the writer itself can end it. */
export function createCheckpointer(path: string, finish: () => void): Checkpointer {
  users++;
  return {
    note: (pages) => {
      if (pages < pagesPerCheckpoint || underWay.has(path)) return;
      underWay.set(path, finish);
      threadOf().postMessage(path);
    },
    [Symbol.dispose]: () => {
      underWay.delete(path);
      if (--users > 0) return;
      void thread?.terminate();
      thread = undefined;
    },
  };
}

function threadOf(): Worker {
  if (thread) return thread;
  const made = new Worker(new URL('./sqlite-checkpoint-thread.ts', import.meta.url));
  const done = (path: string): void => {
    underWay.get(path)?.();
    underWay.delete(path);
  };
  made.on('message', done);
  made.on('error', () => {
    // The writers then end their checkpoints alone, as they would without a thread.
    thread = undefined;
    for (const path of [...underWay.keys()]) done(path);
  });
  made.unref();
  thread = made;
  return made;
}
