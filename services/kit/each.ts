/**
 * Does `work` for every item, at most `atOnce` at a time, in order of their beginning. No more are begun after one that failed.
 * @throws what the first failure threw, once those under way have ended.
 */
export async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  let failure: { readonly error: unknown } | undefined;
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (const item of rest) {
      if (failure) return;
      await work(item).catch((error: unknown) => {
        failure ??= { error };
      });
    }
  });
  await Promise.all(workers);
  if (failure) throw failure.error;
}
