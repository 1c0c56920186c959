import type { RunnableRun, RunQueue, TakenRun, WorkerLeases } from '../../ports/port.ts';

interface Taker {
  readonly give: (run: RunnableRun) => void;
}

/** A queue inside the process. What it held when the process died is put back from the run records. */
export function openMemoryRunQueue(): RunQueue {
  // A map keeps its keys in order of insertion: the first owner is the one whose turn it is, and the first run is its oldest.
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
    // A run that waits keeps its place; which claim of it may be taken over, the later word says.
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

    // Nobody else takes what waits in this process.
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

/** Nothing is handed out twice here, so that nothing need be said of it. */
const taken = (run: RunnableRun): TakenRun => ({ run, settle: () => undefined });

/** Leases of the workers in this process. They end with it, as its workers do. */
export function openMemoryWorkerLeases(): WorkerLeases {
  const until = new Map<string, number>();
  return {
    renew: (workerId, leaseMs) => {
      // A clock that can be set would end leases, or keep dead workers alive.
      until.set(workerId, performance.now() + leaseMs);
      return Promise.resolve();
    },

    release: (workerId) => {
      until.delete(workerId);
      return Promise.resolve();
    },

    isHeld: (workerId) => Promise.resolve((until.get(workerId) ?? -Infinity) > performance.now()),

    [Symbol.asyncDispose]: () => {
      until.clear();
      return Promise.resolve();
    },
  };
}
