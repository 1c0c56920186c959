import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '@agent-workflow/kit/env';
import { primaryCode, storageReason } from './errors.ts';

/** The error that stops a start, where its reason is known. */
export function cannotOpen(path: string, error: unknown): unknown {
  const reason = fileReason(path, error);
  return reason === undefined ? error : new ConfigError(`${path} cannot be opened: ${reason}`, { cause: error });
}

/**
 * Why the file cannot be used; `undefined` for an error that lies in what was asked of it. Where SQLite reports no more than that
 * a file cannot be opened, or that a write failed, the system is asked what is wrong with the folder.
 */
export function fileReason(path: string, error: unknown): string | undefined {
  const reason = storageReason(error);
  if (path === ':memory:' || !vagueCodes.has(primaryCode(error))) return reason;
  return folderReason(dirname(path)) ?? reason;
}

/** SQLITE_READONLY, SQLITE_IOERR and SQLITE_CANTOPEN. */
const vagueCodes: ReadonlySet<number> = new Set([8, 10, 14]);

/** Why nothing can be written into the folder; `undefined` when something can. */
function folderReason(folder: string): string | undefined {
  const file = join(folder, `writable-${String(process.pid)}`);
  try {
    writeFileSync(file, 'x');
  } catch (error) {
    return storageReason(error);
  } finally {
    removeIfThere(file);
  }
  return undefined;
}

function removeIfThere(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It is found and written again the next time.
  }
}
