import { DatabaseSync } from 'node:sqlite';
import { isDamage } from './errors.ts';

/** Reads a whole file. @returns what is wrong with it, in the words of SQLite; `undefined` when nothing is. @throws what keeps it from being read. */
export function damageOf(file: string): string | undefined {
  try {
    using db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    const found = String(db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
    return found === 'ok' ? undefined : found;
  } catch (error) {
    if (error instanceof Error && isDamage(error)) return error.message;
    throw error;
  }
}
