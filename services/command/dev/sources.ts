import { watch } from 'node:fs';
import { extname, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The files of a folder whose change concerns an agent. */
interface Sources extends Disposable {
  /** The next file that changes, or that has changed since the last call; `undefined` when the signal fires first. */
  readonly next: (signal: AbortSignal) => Promise<string | undefined>;
}

/**
 * Watches a folder and those below it, but packages, hidden folders and data. `onFailure` is called when the folder can no longer
 * be watched; no further file is given then.
 */
export function watchSources(folder: string, onFailure: (error: Error) => void): Sources {
  let changed = Promise.withResolvers<string>();
  // Node before 24.14 does not know `ignore` and takes seconds to watch each folder of the packages.
  const watcher = watch(folder, { recursive: true, ignore: isOutside }, (_event, file) => {
    if (file !== null && isSource(file)) changed.resolve(file);
  });
  watcher.on('error', onFailure);
  return {
    next: async (signal) => {
      const stopped = Promise.withResolvers<undefined>();
      const stop = (): void => stopped.resolve(undefined);
      if (signal.aborted) return undefined;
      signal.addEventListener('abort', stop, { once: true });
      const file = await Promise.race([changed.promise, stopped.promise]);
      signal.removeEventListener('abort', stop);
      if (file === undefined) return undefined;
      // An editor writes a file in several steps, and saves several files at once.
      await delay(settleMs);
      changed = Promise.withResolvers<string>();
      return file;
    },
    [Symbol.dispose]: () => {
      watcher.close();
    },
  };
}

const settleMs = 100;

const endings = new Set(['.ts', '.mts', '.js', '.mjs', '.cjs', '.json']);

const isSource = (file: string): boolean => !isOutside(file) && (file === '.env' || endings.has(extname(file)));

const isOutside = (file: string): boolean =>
  file.split(sep).some((part) => part === 'node_modules' || (part.startsWith('.') && part !== '.env'));
