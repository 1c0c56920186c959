type Spend = (steps: number) => void;

/** Whether two values of JSON are equal; the order of members does not matter. */
export function isEqual(one: unknown, other: unknown, spend: Spend): boolean {
  spend(1);
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every(
    (name) => Object.hasOwn(other, name) && isEqual((one as Members)[name], (other as Members)[name], spend),
  );
}

type Members = Readonly<Record<string, unknown>>;

/** Why the items of a list are not different from each other; `undefined` when they are. Takes time that grows with the list alone. */
export function uniqueFault(list: readonly unknown[], spend: Spend): string | undefined {
  const seen = new Map<unknown, number>();
  for (const [index, item] of list.entries()) {
    const key = typeof item === 'object' && item !== null ? textOf(item, spend) : item;
    const before = seen.get(key);
    if (before !== undefined)
      return `must NOT have duplicate items (items ## ${String(before)} and ${String(index)} are identical)`;
    seen.set(key, index);
    spend(1);
  }
  return undefined;
}

/** A text that two lists or objects share when they are equal. */
function textOf(value: object, spend: Spend): string {
  return `\u0000${JSON.stringify(value, (_, part: unknown) => {
    spend(1);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  })}`;
}
