/** Runs works that share a key one after the other, in the order of their calls; others run at the same time. */
type KeyLock = <T>(keys: readonly string[], work: () => Promise<T>) => Promise<T>;

export function createKeyLock(): KeyLock {
  const lastOf = new Map<string, Promise<undefined>>();
  return async (keys, work) => {
    const before = keys.flatMap((key) => lastOf.get(key) ?? []);
    const done = Promise.withResolvers<undefined>();
    // All keys are taken at once, so that no two works wait for each other.
    for (const key of keys) lastOf.set(key, done.promise);
    try {
      await Promise.all(before);
      return await work();
    } finally {
      done.resolve(undefined);
      for (const key of keys) if (lastOf.get(key) === done.promise) lastOf.delete(key);
    }
  };
}
