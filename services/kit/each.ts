/**
 * Calls `work` for every item, in their order, with at most `atOnce` calls at a time. After a failure no further call begins.
 * @throws the error of the first failure, after the other calls have ended.
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

/** The indexes of the items, those of one group together and in their order. An item without a group is one of its own. */
export function groupsOf<T>(
  items: readonly T[],
  groupOf: (item: T) => string | undefined,
): readonly (readonly number[])[] {
  const groups = new Map<string | number, number[]>();
  for (const [index, item] of items.entries()) {
    const group = groupOf(item) ?? index;
    groups.set(group, [...(groups.get(group) ?? []), index]);
  }
  return [...groups.values()];
}
