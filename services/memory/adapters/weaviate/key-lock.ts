/** Does works that share a key one after the other, in the order they came; others go side by side. */
export type KeyLock = <T>(keys: readonly string[], work: () => Promise<T>) => Promise<T>;

export function createKeyLock(): KeyLock {
  const lastOf = new Map<string, Promise<undefined>>();
  return async (keys, work) => {
    const before = keys.flatMap((key) => lastOf.get(key) ?? []);
    const done = Promise.withResolvers<undefined>();
    // All keys are taken in one go, so that no two wait for each other.
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
