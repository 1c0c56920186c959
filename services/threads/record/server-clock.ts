/** So long a reading of a server's clock is used, in milliseconds. */
const usedMs = 5000;
/** A reading that took longer does not take the place of the one before it, in milliseconds. */
const trustedMs = 500;

/**
 * The clock of a server, in milliseconds since 1970, read once at first and again while it is used. Between two readings it goes on by the time
 * that passes: the clock of this process may be set meanwhile. It is not ahead of the server's, and behind it by at most what the reading took.
 */
export async function openServerClock(read: () => Promise<number>): Promise<() => number> {
  let ahead = (await read()) - performance.now();
  let readAgainAt = performance.now() + usedMs;

  const readAgain = async (begun: number): Promise<void> => {
    const shown = await read();
    const ended = performance.now();
    if (ended - begun <= trustedMs) ahead = shown - ended;
  };

  return () => {
    const passed = performance.now();
    if (passed >= readAgainAt) {
      readAgainAt = passed + usedMs;
      readAgain(passed).catch(ignore);
    }
    return Math.floor(passed + ahead);
  };
}

/** The reading before it stays in use. */
const ignore = (): void => undefined;
