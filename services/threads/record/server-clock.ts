/** So long a reading of a server's clock is used, in milliseconds. */
const usedMs = 5000;

/**
 * The clock of a server, in milliseconds since 1970, read once at first and again while it is used. Between two readings it goes on by the time
 * that passes: the clock of this process may be set meanwhile. It is not ahead of the server's, and behind it by at most what the fastest reading
 * took: a reading that was slow says less. One that shows the server's clock
 * to be set back counts as it is.
 */
export async function openServerClock(read: () => Promise<number>): Promise<() => number> {
  let ahead = Number.NaN;
  let readAgainAt = 0;

  const readNow = async (begun: number): Promise<void> => {
    const shown = await read();
    // The server showed it at some moment between the two.
    const [least, most] = [shown - performance.now(), shown - begun];
    ahead = ahead <= most ? Math.max(ahead, least) : least;
  };

  await readNow(performance.now());
  readAgainAt = performance.now() + usedMs;
  return () => {
    const passed = performance.now();
    if (passed >= readAgainAt) {
      readAgainAt = passed + usedMs;
      readNow(passed).catch(ignore);
    }
    return Math.floor(passed + ahead);
  };
}

/** The reading before it stays in use. */
const ignore = (): void => undefined;
