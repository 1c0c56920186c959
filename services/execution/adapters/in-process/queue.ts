import type { RunnableRun, RunQueue, TakenRun } from '../../ports/queue.ts';

interface Taker {
  readonly give: (run: RunnableRun) => void;
}

/** A queue inside the process. The runs that it loses with the process are enqueued again from the record. */
export function openInProcessRunQueue(): RunQueue {
  // Maps keep their keys in order of insertion: the first owner has the turn, and its first run is its oldest.
  const lanes = new Map<string, Map<string, RunnableRun>>();
  const takers = new Set<Taker>();
  let waiting = 0;

  const next = (): RunnableRun | undefined => {
    for (const [owner, lane] of lanes) {
      const [run] = lane.values();
      lanes.delete(owner);
      if (!run) continue;
      lane.delete(run.runId);
      if (lane.size > 0) lanes.set(owner, lane);
      waiting--;
      return run;
    }
    return undefined;
  };

  const wait = (run: RunnableRun): void => {
    const lane = lanes.get(run.owner) ?? new Map<string, RunnableRun>();
    lanes.set(run.owner, lane);
    const known = lane.get(run.runId);
    if (!known) waiting++;
    // A waiting run keeps its position; the newest epoch says which claim of it may be taken over.
    if (!known || epochOf(run) > epochOf(known)) lane.set(run.runId, run);
  };

  return {
    enqueue: (run) => {
      const [taker] = takers;
      if (taker) taker.give(run);
      else wait(run);
      return Promise.resolve();
    },

    waiting: () => waiting,

    // No other replica takes the runs of this process.
    leave: () => Promise.resolve(),

    take: (signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const first = next();
        if (first) {
          resolve(taken(first));
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
            resolve(taken(run));
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

const epochOf = ({ takeoverEpoch }: RunnableRun): number => takeoverEpoch ?? -1;

/** Runs are delivered once here, so that nothing needs to be settled. */
const taken = (run: RunnableRun): TakenRun => ({ run, settle: () => undefined });
