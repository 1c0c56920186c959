/** How the items of a list are distinguished and ordered: the newest first, by a time in milliseconds since 1970. */
interface ListOrder<T> {
  readonly keyOf: (item: T) => string;
  readonly timeOf: (item: T) => number;
}

/** The first page of a list as it was read again. */
interface FirstPage<T> {
  readonly items: readonly T[];
  /** Whether it is the whole list. */
  readonly isWhole: boolean;
}

interface Merged<T> {
  /** What is listed, each item as it is now, at its place. */
  readonly inPlace: readonly T[];
  /** The list as it is now; `undefined` when items between the page and what is listed are unknown: then it is read again. */
  readonly arranged: readonly T[] | undefined;
  /** How many items are newer than all that are listed. */
  readonly newer: number;
}

/** What becomes of a list when its first page was read again. */
export function mergeFirstPage<T>(
  listed: readonly T[],
  { items, isWhole }: FirstPage<T>,
  { keyOf, timeOf }: ListOrder<T>,
): Merged<T> {
  const fresh = new Map(items.map((item) => [keyOf(item), item]));
  const newest = listed[0];
  const oldest = items.at(-1);
  const isKnown = isWhole || listed.some((item) => fresh.has(keyOf(item)));
  const rest =
    isWhole || oldest === undefined
      ? []
      : listed.filter((item) => !fresh.has(keyOf(item)) && timeOf(item) <= timeOf(oldest));
  return {
    inPlace: listed.map((item) => fresh.get(keyOf(item)) ?? item),
    arranged: isKnown ? [...items, ...rest] : undefined,
    newer: newest === undefined ? items.length : items.filter((item) => timeOf(item) > timeOf(newest)).length,
  };
}
