import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { IntegrityCheck, IntegrityReply } from './integrity.ts';
import { isDamage } from './errors.ts';

/** The thread that `integrity.ts` makes: it reads one file, replies and ends. */
const { path } = workerData as IntegrityCheck;
parentPort?.postMessage({ damage: damageOf(path) } satisfies IntegrityReply);

function damageOf(file: string): string | undefined {
  try {
    using db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    const found = String(db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
    return found === 'ok' ? undefined : found;
  } catch (error) {
    if (error instanceof Error && isDamage(error)) return error.message;
    throw error;
  }
}
