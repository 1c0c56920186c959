import { setTimeout as wait } from 'node:timers/promises';

/** What a test holds a block to: on a quiet machine none is longer than 100 ms, but tests share their cores and caches with others. */
export const generousMs = 300;

/** For how long the thread worked without a pause, in milliseconds. */
export interface BlockMeter extends Disposable {
  /** The longest so far, since the meter was opened or `reset`. */
  readonly longestMs: () => number;
  readonly reset: () => void;
}

/**
 * Measures how much processor time this thread uses between two turns of its event loop. Processor time and not time on the clock:
 * while the thread waits for a core that other processes use, it holds up nobody. It does not see waits for the disk.
 */
export function openBlockMeter(): BlockMeter {
  let before = usedMs();
  let longest = 0;
  const sample = (): void => {
    const now = usedMs();
    longest = Math.max(longest, now - before);
    before = now;
  };
  const timer = setInterval(sample, 1).unref();
  return {
    longestMs: () => longest,
    reset: () => {
      before = usedMs();
      longest = 0;
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
    },
  };
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Does the work and gives the longest time for which it held up the event loop of this process, in milliseconds of processor time. */
export async function longestBlockMs(work: () => Promise<unknown>): Promise<number> {
  using meter = openBlockMeter();
  await wait(10);
  meter.reset();
  await work();
  await wait(10);
  return meter.longestMs();
}
