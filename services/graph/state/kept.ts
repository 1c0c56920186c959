interface Bounds {
  readonly count: number;
  readonly bytes: number;
}

/** Values by the objects from which they were made. */
interface Kept<K extends object, V> {
  readonly get: (key: K) => V | undefined;
  /** Keeps a value that counts as so many bytes; one that is larger than the bound is kept alone. */
  readonly set: (key: K, value: V, bytes: number) => void;
}

/** Keeps values within bounds. When there are too many, those that were used longest ago are dropped. */
export function createKept<K extends object, V>(bounds: Bounds): Kept<K, V> {
  /** The one that was used longest ago comes first. */
  const entries = new Map<K, { readonly value: V; readonly bytes: number }>();
  let kept = 0;

  const drop = (key: K): void => {
    kept -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };

  return {
    get: (key) => {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },

    set: (key, value, bytes) => {
      drop(key);
      for (const oldest of entries.keys()) {
        if (entries.size < bounds.count && kept + bytes <= bounds.bytes) break;
        drop(oldest);
      }
      entries.set(key, { value, bytes });
      kept += bytes;
    },
  };
}
