/**
 * Whether a JSON value contains another, as `@>` of PostgreSQL does: an object its keys with values that contain the others, a list each of the
 * items, in any order and any number; anything else is equal. Items that are objects or lists take a comparison with each of the list: bound them.
 */
export function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part)) return Array.isArray(whole) && containsItems(whole, part);
  if (!isCompound(part)) return whole === part;
  return (
    isCompound(whole) &&
    !Array.isArray(whole) &&
    Object.entries(part).every(([name, value]) => Object.hasOwn(whole, name) && contains(whole[name], value))
  );
}

function containsItems(whole: readonly unknown[], part: readonly unknown[]): boolean {
  const scalars = new Set(whole.filter((item) => !isCompound(item)));
  const others = whole.filter(isCompound);
  return part.every((item) => (isCompound(item) ? others.some((other) => contains(other, item)) : scalars.has(item)));
}

/** How many objects and lists stand in lists of a JSON value, those within these included. */
export function countItems(value: unknown): number {
  if (!isCompound(value)) return 0;
  const inside = Object.values(value).filter(isCompound);
  const own = Array.isArray(value) ? inside.length : 0;
  return inside.reduce<number>((sum, item) => sum + countItems(item), own);
}

type Compound = Readonly<Record<string, unknown>>;

const isCompound = (value: unknown): value is Compound => typeof value === 'object' && value !== null;
