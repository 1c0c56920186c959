import { extname, relative, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { watch } from 'chokidar';

/** The files of a folder whose change concerns an agent. */
interface Sources extends AsyncDisposable {
  /** The next file that changes, or that has changed since the last call; `undefined` when the signal fires first. */
  readonly next: (signal: AbortSignal) => Promise<string | undefined>;
}

/**
 * Watches a folder and those below it, but packages, hidden folders and data. `onFailure` is called when the folder can no longer
 * be watched; no further file is given then. Resolves when every change from then on is seen.
 */
export async function watchSources(folder: string, onFailure: (error: Error) => void): Promise<Sources> {
  let changed = Promise.withResolvers<string>();
  // The library sees files that editors replace instead of writing; the recursive watch of Node on Linux sees that once.
  const watcher = watch(folder, { ignoreInitial: true, ignored: (path) => isOutside(relative(folder, path)) });
  watcher.on('all', (_event, path) => {
    const file = relative(folder, path);
    if (isSource(file)) changed.resolve(file);
  });
  watcher.on('error', (error) => onFailure(error instanceof Error ? error : new Error(String(error))));
  await new Promise<void>((resolve) => watcher.once('ready', resolve));
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
    [Symbol.asyncDispose]: () => watcher.close(),
  };
}

const settleMs = 100;

const endings = new Set(['.ts', '.mts', '.js', '.mjs', '.cjs', '.json']);

const isSource = (file: string): boolean => file === '.env' || endings.has(extname(file));

const isOutside = (file: string): boolean =>
  file.split(sep).some((part) => part === 'node_modules' || (part.startsWith('.') && part !== '.env'));
