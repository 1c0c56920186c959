/** Does works of one key one after another, in the order in which they were asked for; those of different keys side by side. */
type KeyedLock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** A lock that holds nothing of a key that nobody uses. */
export function createKeyedLock(): KeyedLock {
  const lines = new Map<string, Promise<unknown>>();
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
