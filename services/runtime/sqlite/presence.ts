import { statSync } from 'node:fs';
import { ConfigError } from '@agent-workflow/kit/env';

/** Whether a file of SQLite and its log are still where they were opened. */
export interface Presence {
  /** Why nothing may be written; `undefined` while both are there. */
  readonly fault: () => Error | undefined;
  /** The same for frequent callers: the answer is kept for a few milliseconds. */
  readonly recentFault: () => Error | undefined;
}

/** Milliseconds for which an answer is kept. A check takes 3 µs, so that busy writers spend less than a thousandth of their time on it. */
const freshMs = 5;

/**
 * A process goes on writing to files that were removed or put aside, and loses all of it when it ends. So a writer checks before
 * it writes. Files that are put back where they were are there again.
 */
export function watchPresence(path: string): Presence {
  const opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }));
  let checkedAt = -Infinity;
  let found: Error | undefined;
  const fault = (): Error | undefined => {
    checkedAt = performance.now();
    const missing = opened.find(({ file, identity }) => identityOf(file) !== identity);
    found = missing && Object.assign(new Error(`${missing.file} was removed or replaced`), { code: 'ENOENT' });
    return found;
  };
  return { fault, recentFault: () => (performance.now() - checkedAt > freshMs ? fault() : found) };
}

/**
 * Refuses a file that had content and has none: SQLite would take it for a new one, remove its log, and answer as if nothing had ever been
 * written. A process that died while it made the file leaves one without bytes that nobody has changed since, and no log.
 * @throws ConfigError
 */
export function refuseEmptied(path: string): void {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file && file.size > 0) return;
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  const wasEmptied = file !== undefined && file.birthtimeMs > 0 && file.mtimeMs > file.birthtimeMs;
  if (!wasEmptied && !log?.size) return;
  throw new ConfigError(
    `${path} cannot be opened: it is ${file ? 'empty' : 'not there, while its log is'}; restore it, or remove what is left of it to begin without data`,
  );
}

/** Identifies a file, so that another in its place is noticed; `undefined` when there is none. */
function identityOf(file: string): string | undefined {
  const { dev, ino } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return ino === undefined ? undefined : `${String(dev)}:${String(ino)}`;
}
