/** A stream that can be read again from its begin, as long as little of it has been read. */
interface Rereadable {
  /** The bytes from the first. A reader that was there before gets no more. */
  readonly read: () => AsyncIterable<Uint8Array>;
  /** Whether they can be read again: all that was read is still here, and reading has not failed. */
  readonly canReread: () => boolean;
  /** Nobody reads any more. */
  readonly close: () => void;
}

/** What JavaScript lets pass: a stream of texts. */
function faultOf(chunk: unknown): TypeError | undefined {
  if (chunk instanceof Uint8Array) return undefined;
  return new TypeError(`a stream of a file must give bytes, not ${typeof chunk}: encode texts with TextEncoder`);
}

/** Keeps what is read of `source` until that is more than `maxBytes`. */
export function rereadable(source: AsyncIterable<Uint8Array>, maxBytes: number): Rereadable {
  const iterator = source[Symbol.asyncIterator]();
  const kept = new Map<number, Uint8Array>();
  let [size, count, readers] = [0, 0, 0];
  let [isDone, hasFailed] = [false, false];
  let taking: Promise<void> | undefined;
  const isShort = (): boolean => size <= maxBytes;

  const leave = async (): Promise<void> => {
    await iterator.return?.();
  };

  const take = async (): Promise<void> => {
    try {
      const next = await iterator.next();
      isDone = next.done ?? false;
      if (next.done) return;
      const fault = faultOf(next.value);
      if (fault) {
        leave().catch(() => undefined);
        throw fault;
      }
      size += next.value.byteLength;
      kept.set(count++, next.value);
    } catch (error) {
      hasFailed = true;
      throw error;
    } finally {
      taking = undefined;
    }
  };

  const forgetUpTo = (last: number): void => {
    for (const at of kept.keys()) if (at <= last) kept.delete(at);
  };

  async function* read(): AsyncGenerator<Uint8Array> {
    const reader = ++readers;
    for (let at = 0; ; at++) {
      // What the reader before has asked for is taken for this one.
      while (at === count && !isDone) await (taking ??= take());
      const chunk = kept.get(at);
      if (chunk === undefined || reader !== readers) return;
      if (!isShort()) forgetUpTo(at);
      yield chunk;
    }
  }

  return {
    read,
    canReread: () => isShort() && !hasFailed,
    close: () => {
      // Not awaited: a source that hangs ends when it goes on.
      if (!isDone && !hasFailed) leave().catch(() => undefined);
    },
  };
}
