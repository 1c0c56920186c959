import type { RunnableRun, RunQueue } from '../port.ts';

interface Taker {
  readonly give: (run: RunnableRun) => void;
}

/** A queue inside the process. What it held when the process died is put back from the run records. */
export function openMemoryRunQueue(): RunQueue {
  // A map keeps its keys in order of insertion: the first owner is the one whose turn it is.
  const lanes = new Map<string, RunnableRun[]>();
  const takers = new Set<Taker>();
  let waiting = 0;

  const next = (): RunnableRun | undefined => {
    for (const [owner, lane] of lanes) {
      const run = lane.shift();
      lanes.delete(owner);
      if (lane.length > 0) lanes.set(owner, lane);
      if (run) {
        waiting--;
        return run;
      }
    }
    return undefined;
  };

  const wait = (run: RunnableRun): void => {
    const lane = lanes.get(run.owner);
    if (lane) lane.push(run);
    else lanes.set(run.owner, [run]);
    waiting++;
  };

  return {
    enqueue: (run) => {
      const [taker] = takers;
      if (taker) taker.give(run);
      else wait(run);
      return Promise.resolve();
    },

    waiting: () => waiting,

    take: (signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const first = next();
        if (first) {
          resolve(first);
          return;
        }
        const stop = (): void => {
          takers.delete(taker);
          reject(signal.reason as Error);
        };
        const taker: Taker = {
          give: (run) => {
            takers.delete(taker);
            signal.removeEventListener('abort', stop);
            resolve(run);
          },
        };
        takers.add(taker);
        signal.addEventListener('abort', stop, { once: true });
      }),

    [Symbol.asyncDispose]: () => {
      lanes.clear();
      waiting = 0;
      return Promise.resolve();
    },
  };
}
