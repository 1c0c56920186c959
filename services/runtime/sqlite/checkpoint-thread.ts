import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';

/** How a checkpoint ended that the thread was asked for. */
export interface CheckpointReply {
  readonly path: string;
  /** Set when it failed. An error loses its result codes on the way between threads, so they travel beside its message. */
  readonly failure?: { readonly message: string; readonly errcode: number };
}

/** The thread that `sqlite-checkpoint.ts` makes: it is sent a file's path, copies that file's log into it, and replies. */
parentPort?.on('message', (path: string) => {
  parentPort?.postMessage({ path, ...checkpoint(path) } satisfies CheckpointReply);
});

function checkpoint(path: string): Pick<CheckpointReply, 'failure'> {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: 5000 });
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    return {};
  } catch (error) {
    const { message = 'unknown', errcode = 0 } = error as { readonly message?: string; readonly errcode?: number };
    return { failure: { message, errcode } };
  } finally {
    db?.close();
  }
}
