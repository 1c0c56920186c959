import type { WorkerLeases } from '../../ports/leases.ts';

/** Leases of the workers in this process. They end with the process, as its workers do. */
export function openInProcessWorkerLeases(): WorkerLeases {
  const until = new Map<string, number>();
  return {
    renew: (workerId, leaseMs) => {
      // The monotonic clock: one that can be set could end leases or keep dead workers alive.
      until.set(workerId, performance.now() + leaseMs);
      return Promise.resolve();
    },

    release: (workerId) => {
      until.delete(workerId);
      return Promise.resolve();
    },

    isAlive: (workerId) => Promise.resolve((until.get(workerId) ?? -Infinity) > performance.now()),

    living: () => new Set([...until].flatMap(([workerId, end]) => (end > performance.now() ? [workerId] : []))),

    [Symbol.asyncDispose]: () => {
      until.clear();
      return Promise.resolve();
    },
  };
}
