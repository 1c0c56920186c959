import { createShortLivedMap } from './short-lived.ts';

/** Runs the functions of one key one after another, in the order of the calls, and functions of different keys concurrently. */
type KeyedLock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Makes such a lock. It takes no memory for a key that is not in use. */
export function createKeyedLock(): KeyedLock {
  const lines = createShortLivedMap<string, Promise<unknown>>();
  return async (key, work) => {
    const turn = (lines.get(key) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    lines.set(key, settled);
    try {
      return await turn;
    } finally {
      if (lines.get(key) === settled) lines.delete(key);
    }
  };
}
