/** The first `limit` items, in the order of `compare`, of all that are added. */
interface Top<T> {
  /** Whether the item would be among them. */
  readonly wants: (item: T) => boolean;
  /** Adds an item that would be among them. */
  readonly add: (item: T) => void;
  /** The last of them once there are `limit`; an item after it in the order is not added. */
  readonly last: () => T | undefined;
  readonly items: () => T[];
}

export function createTop<T>(limit: number, compare: (a: T, b: T) => number): Top<T> {
  const items: T[] = [];
  const isFull = (): boolean => items.length >= limit;
  return {
    wants: (item) => {
      const last = items.at(-1);
      return !isFull() || (last !== undefined && compare(item, last) < 0);
    },
    add: (item) => {
      if (isFull()) items.pop();
      items.splice(indexFor(item, items, compare), 0, item);
    },
    last: () => (isFull() ? items.at(-1) : undefined),
    items: () => items,
  };
}

function indexFor<T>(item: T, items: readonly T[], compare: (a: T, b: T) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(item, items[middle] as T) < 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
