import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';

/** What a test holds a block to: on a quiet machine none is longer than 100 ms, but tests share theirs with others. */
export const generousMs = 300;

/** Does the work and gives the longest time for which it held up the event loop of this process, in milliseconds. */
export async function longestBlockMs(work: () => Promise<unknown>): Promise<number> {
  const blocked = monitorEventLoopDelay({ resolution: 1 });
  blocked.enable();
  // The histogram counts from the second tick of its timer on, and up to the tick behind the work.
  await wait(10);
  await work();
  await wait(10);
  blocked.disable();
  return blocked.max / 1e6;
}
