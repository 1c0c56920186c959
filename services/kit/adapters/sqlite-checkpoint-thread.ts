import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';

/** The thread that `sqlite-checkpoint.ts` makes: told a file, it works that file's log into it, and tells the file again. */
parentPort?.on('message', (path: string) => {
  const db = new DatabaseSync(path, { timeout: 5000 });
  db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  db.close();
  parentPort?.postMessage(path);
});
