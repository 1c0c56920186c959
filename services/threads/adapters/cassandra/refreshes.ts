/** Rows of the lists by recency that are being written anew and that no caller waits for. */
export interface Refreshes {
  readonly add: (owner: string, work: () => Promise<void>) => Promise<void>;
  /** Resolves when those have settled that are under way: whoever reads a list sees what was written before, here at least. */
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
