import { Worker } from 'node:worker_threads';

/**
 * Works the write-ahead log into the file, on a thread of its own: it copies and syncs for tens of milliseconds, in which
 * the event loop would stand still. The thread is made when a log first grows, and is shared by all files.
 */
export interface Checkpointer extends Disposable {
  /** A group of `writes` has been committed. */
  readonly note: (writes: number) => void;
}

/** Pages after which a log is worked into its file: it then starts over, within the room that was reserved for it. */
const pagesPerCheckpoint = 800;
/** Writes between two looks at how far the log has grown. */
const writesPerLook = 16;

let thread: Worker | undefined;
let users = 0;
/** Files whose logs are being worked in, and what is to be done then. */
const underWay = new Map<string, () => void>();

interface Log {
  /** How many of its pages are not in the file yet. */
  readonly unsettledPages: () => number;
  /** Called when most of the log has been copied: what is left is little, and only the writer itself can end it. */
  readonly finish: () => void;
}

export function createCheckpointer(path: string, { unsettledPages, finish }: Log): Checkpointer {
  let writes = 0;
  users++;
  return {
    note: (more) => {
      writes += more;
      if (writes < writesPerLook || underWay.has(path)) return;
      writes = 0;
      if (unsettledPages() < pagesPerCheckpoint) return;
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
