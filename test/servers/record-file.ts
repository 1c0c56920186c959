import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { byLoad } from '../by-load.ts';

/** The record of a service that runs on SQLite, beside it: whoever reads or writes there waits until the service has written what it writes. */
export const openRecordFile = (folder: string): DatabaseSync =>
  new DatabaseSync(join(folder, 'threads.sqlite'), { timeout: byLoad(10_000) });
