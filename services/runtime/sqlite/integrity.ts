import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { damageOf } from './file-damage.ts';

/** The thread is sent nothing and reads the file of this path; it posts what it found. */
export interface IntegrityCheck {
  readonly path: string;
}

/** What is wrong with a file, in the words of SQLite; `undefined` when nothing is. */
export interface IntegrityReply {
  readonly damage: string | undefined;
}

/** A larger file is not checked: a process that ends waits for the end of a check, which reads some 100 MB in a second. */
const mostBytes = 256 * 1024 * 1024;
/** A file of up to this size is read at once, in some 10 ms: the memory of a thread is many times the file. */
const smallBytes = 1024 * 1024;
/** Milliseconds after the file was opened: the start comes first. */
const afterMs = 1000;

/**
 * Reads the whole file once, a large one on a thread of its own, and compares each index with its table. SQLite reports by itself what it cannot
 * read as a page; a row whose columns were overwritten it just does not find.
 */
export function checkIntegrity(path: string, onDamage: (error: Error) => void): Disposable {
  let thread: Worker | undefined;
  const report = (damage: string | undefined): void => {
    if (damage !== undefined) onDamage(Object.assign(new Error(damage), { errcode: corrupt }));
  };
  const timer = setTimeout(() => {
    const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
    if (size === 0 || size > mostBytes) return;
    if (size <= smallBytes) {
      report(damageIfReadable(path));
      return;
    }
    thread = new Worker(new URL('./integrity-thread.ts', import.meta.url), {
      workerData: { path } satisfies IntegrityCheck,
    });
    thread.on('message', ({ damage }: IntegrityReply) => report(damage));
    // A file that cannot be checked may be read all the same.
    thread.on('error', () => undefined);
    thread.unref();
  }, afterMs);
  timer.unref();
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      void thread?.terminate();
    },
  };
}

/** A file that cannot be checked may be read all the same. */
function damageIfReadable(path: string): string | undefined {
  try {
    return damageOf(path);
  } catch {
    return undefined;
  }
}

/** SQLITE_CORRUPT: SQLite found it, in a connection of its own. */
const corrupt = 11;
