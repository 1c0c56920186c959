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
  const before = new Map(listed.map((item) => [keyOf(item), item]));
  // An item that is as it was stays the same object, and a list of such items the same list: what has not changed is not drawn again.
  const known = items.map((item) => asBefore(item, before.get(keyOf(item))));
  const fresh = new Map(known.map((item) => [keyOf(item), item]));
  const newest = listed[0];
  const oldest = items.at(-1);
  // The service may have looked through a part of the record and found nothing yet: such a page says nothing of what is listed.
  const isKnown = isWhole || items.length === 0 || listed.some((item) => fresh.has(keyOf(item)));
  const rest = isWhole
    ? []
    : listed.filter((item) => !fresh.has(keyOf(item)) && (oldest === undefined || timeOf(item) <= timeOf(oldest)));
  return {
    inPlace: listAsBefore(
      listed.map((item) => fresh.get(keyOf(item)) ?? item),
      listed,
    ),
    arranged: isKnown ? listAsBefore([...known, ...rest], listed) : undefined,
    newer: newest === undefined ? items.length : items.filter((item) => timeOf(item) > timeOf(newest)).length,
  };
}

const asBefore = <T>(item: T, before: T | undefined): T =>
  before !== undefined && JSON.stringify(item) === JSON.stringify(before) ? before : item;

const listAsBefore = <T>(list: readonly T[], before: readonly T[]): readonly T[] =>
  list.length === before.length && list.every((item, index) => item === before[index]) ? before : list;
