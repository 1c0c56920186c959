import { createFairQueue, poolOf, poolsOf, type FairQueue } from './fair-queue.ts';
import type { RunnableRun, RunQueue, TakenRun } from '../../ports/queue.ts';

interface Taker {
  /** The pools that it takes runs of. */
  readonly pools: readonly string[];
  readonly give: (run: RunnableRun) => void;
}

/** A queue inside the process. The runs that it loses with the process are enqueued again from the record. */
export function openInProcessRunQueue(): RunQueue {
  const takers = new Set<Taker>();
  const runs: FairQueue = createFairQueue();

  return {
    enqueue: (run) => {
      const pool = poolOf(run);
      const taker = [...takers].find(({ pools }) => pools.includes(pool));
      if (taker) taker.give(run);
      else runs.add(run);
      return Promise.resolve();
    },

    waiting: runs.waiting,
    backlogs: runs.backlogs,
    recount: () => Promise.resolve(),

    // No other replica takes the runs of this process.
    leave: () => Promise.resolve(),

    take: (held, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const pools = poolsOf(held);
        const first = runs.next(pools);
        if (first) {
          resolve(taken(first));
          return;
        }
        const stop = (): void => {
          takers.delete(taker);
          reject(signal.reason as Error);
        };
        const taker: Taker = {
          pools,
          give: (run) => {
            takers.delete(taker);
            signal.removeEventListener('abort', stop);
            resolve(taken(run));
          },
        };
        takers.add(taker);
        signal.addEventListener('abort', stop, { once: true });
      }),

    [Symbol.asyncDispose]: () => {
      runs.clear();
      return Promise.resolve();
    },
  };
}

/** Runs are delivered once here, so that nothing needs to be settled. */
const taken = (run: RunnableRun): TakenRun => ({ run, settle: () => undefined });
