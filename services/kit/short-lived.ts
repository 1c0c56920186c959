/**
 * Maps and sets of a process whose entries come and go with requests.
 *
 * A `Map` of V8 that fills up with deleted entries moves to a new table, and the old table points to the new one, for iterators that are under
 * way (`OrderedHashTable::Rehash`). Once one table is in the old space, each later one is kept by it, with all that its entries held at the
 * time, until the whole heap is collected. With few entries at a time that is most of what requests ever made: each move keeps those that
 * were under way. So these begin anew, with a table that no other points to, before a table gets old.
 */

/** The part of `Map` that these have. What lists returns a copy: entries may come and go while it is read. */
interface ShortLivedMap<K, V> {
  readonly size: () => number;
  readonly get: (key: K) => V | undefined;
  readonly has: (key: K) => boolean;
  readonly set: (key: K, value: V) => void;
  /** @returns whether there was an entry. */
  readonly delete: (key: K) => boolean;
  readonly keys: () => K[];
  readonly values: () => V[];
  readonly entries: () => [K, V][];
}

/** The part of `Set` that these have. */
interface ShortLivedSet<T> {
  readonly size: () => number;
  readonly has: (value: T) => boolean;
  readonly add: (value: T) => void;
  /** @returns whether it was there. */
  readonly delete: (value: T) => boolean;
  readonly values: () => T[];
}

/** Deletions until a map begins anew: fewer than come between two collections of new objects, which make a table old. */
const leastDeletions = 32;

export function createShortLivedMap<K, V>(): ShortLivedMap<K, V> {
  let map = new Map<K, V>();
  let deletions = 0;
  return {
    size: () => map.size,
    get: (key) => map.get(key),
    has: (key) => map.has(key),
    set: (key, value) => {
      map.set(key, value);
    },
    delete: (key) => {
      if (!map.delete(key)) return false;
      deletions++;
      // A copy takes as long as its entries are many: no more than one of them is copied for each that is deleted.
      if (deletions >= leastDeletions && deletions >= map.size) {
        map = new Map(map);
        deletions = 0;
      }
      return true;
    },
    keys: () => [...map.keys()],
    values: () => [...map.values()],
    entries: () => [...map],
  };
}

export function createShortLivedSet<T>(): ShortLivedSet<T> {
  const map = createShortLivedMap<T, true>();
  return {
    size: map.size,
    has: map.has,
    add: (value) => map.set(value, true),
    delete: map.delete,
    values: map.keys,
  };
}
