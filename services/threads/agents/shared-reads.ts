interface Reading<T> {
  /** Resolves when the read has ended, also with a failure. */
  readonly over: Promise<unknown>;
  /** The read that follows it. */
  next?: Promise<T>;
}

/**
 * Reads by name, one read at a time for each name. Calls that come while a read is under way share the next one, which begins after all of them: so
 * each call sees what was written before it, and many calls at once cost two reads. In Cassandra a serial read makes others of its partition try
 * again, and each holds one of a few threads meanwhile.
 */
export function createSharedReads<T>(read: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const underWay = new Map<string, Reading<T>>();

  const begin = (name: string): Promise<T> => {
    const made = read(name);
    const reading: Reading<T> = {
      over: made.then(ignore, ignore).then(() => {
        if (!reading.next) underWay.delete(name);
      }),
    };
    underWay.set(name, reading);
    return made;
  };

  return (name) => {
    const reading = underWay.get(name);
    if (!reading) return begin(name);
    reading.next ??= reading.over.then(() => begin(name));
    return reading.next;
  };
}

const ignore = (): void => undefined;
