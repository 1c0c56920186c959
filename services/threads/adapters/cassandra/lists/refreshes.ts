/** The writes of lists by recency that are under way and that no caller waits for. */
interface Refreshes {
  readonly add: (owner: string, work: () => Promise<void>) => Promise<void>;
  /** Resolves when the owner's writes under way have settled: a reader of this process sees every change made before. */
  readonly settled: (owner: string) => Promise<void>;
}

export function createRefreshes(): Refreshes {
  const byOwner = new Map<string, Set<Promise<void>>>();
  return {
    add: async (owner, work) => {
      const mine = byOwner.get(owner) ?? new Set();
      byOwner.set(owner, mine);
      const writing = work();
      mine.add(writing);
      try {
        await writing;
      } finally {
        mine.delete(writing);
        if (mine.size === 0) byOwner.delete(owner);
      }
    },
    settled: async (owner) => {
      await Promise.allSettled([...(byOwner.get(owner) ?? [])]);
    },
  };
}
