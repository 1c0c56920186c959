import type { ShownRuns, WorkerLeases } from '../../ports/leases.ts';

/** Leases of the workers in this process. They end with the process, as its workers do. */
export function openInProcessWorkerLeases(): WorkerLeases {
  const until = new Map<string, number>();
  const shown = new Map<string, readonly ShownRuns[]>();
  const living = (): ReadonlySet<string> =>
    new Set([...until].flatMap(([workerId, end]) => (end > performance.now() ? [workerId] : [])));
  return {
    renew: (workerId, leaseMs) => {
      // The monotonic clock: one that can be set could end leases or keep dead workers alive.
      until.set(workerId, performance.now() + leaseMs);
      return Promise.resolve();
    },

    release: (workerId) => {
      until.delete(workerId);
      shown.delete(workerId);
      return Promise.resolve();
    },

    isAlive: (workerId) => Promise.resolve((until.get(workerId) ?? -Infinity) > performance.now()),

    living,

    showDriven: (workerId, driven) => {
      const agents = new Set(driven.map(({ agent }) => agent));
      const others = shown.get(workerId)?.filter(({ agent }) => !agents.has(agent)) ?? [];
      shown.set(workerId, [...others, ...driven.map((each) => ({ ...each, workerId }))]);
    },

    driven: () => [...living()].flatMap((workerId) => shown.get(workerId) ?? []),

    [Symbol.asyncDispose]: () => {
      until.clear();
      shown.clear();
      return Promise.resolve();
    },
  };
}
