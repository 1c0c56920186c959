type Open<A extends readonly unknown[], T extends AsyncDisposable> = (...args: A) => Promise<T>;

/**
 * Opens so many at once, and the next when one of them is disposed. ava begins all tests of a file together, and a call that is not connected within a second is
 * refused: with some hundred servers and clients in one process that is all that it shows of a busy machine. A test that opens a second one while it has
 * the first may wait for ever.
 */
export function atMost<A extends readonly unknown[], T extends AsyncDisposable>(
  count: number,
  open: Open<A, T>,
): Open<A, T> {
  let free = count;
  const waiting: (() => void)[] = [];
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return async (...args) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    const opened = await open(...args).catch((error: unknown) => {
      leave();
      throw error;
    });
    return {
      ...opened,
      [Symbol.asyncDispose]: async () => {
        try {
          await opened[Symbol.asyncDispose]();
        } finally {
          leave();
        }
      },
    };
  };
}
