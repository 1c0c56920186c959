import type { RevisionWorkers } from '@agent-workflow/protos/execution';
import type { ShownRuns, WorkerLeases } from '../ports/leases.ts';
import type { RunPool } from '../ports/queue.ts';
import type { Registry } from '../record/registry.ts';
import { poolKey } from './open-run-counts.ts';

/**
 * Counts by what live workers have shown last: those that hold the agent at the revision, or, of a pool without one, at any.
 */
export function countWorkers(shown: readonly ShownRuns[]): (pool: RunPool) => number {
  const counts = new Map<string, number>();
  const add = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { agent, revisions } of shown) {
    add(poolKey(agent, undefined));
    for (const { revision } of revisions) if (revision !== undefined) add(poolKey(agent, revision));
  }
  return ({ agent, revision }) => counts.get(poolKey(agent, revision)) ?? 0;
}

/** How this replica knows workers. */
export interface KnownWorkersParts {
  readonly leases: Pick<WorkerLeases, 'driven' | 'living'>;
  /** The id under which this replica itself holds a lease. */
  readonly workerId: string;
}

/** Whether this replica knows which workers live: as long as it does not receive its own heartbeats, it may miss those of others. */
export const knowsWorkers = ({ leases, workerId }: KnownWorkersParts): boolean => leases.living().has(workerId);

interface LiveWorkersParts extends KnownWorkersParts {
  readonly registry: Pick<Registry, 'last'>;
  /** How long it takes at most until a worker that is there has shown itself, in milliseconds. */
  readonly showMs: number;
}

/** Counts the workers of each registered revision that is not retired. One whose workers are not known is left out. */
export function createLiveWorkers(parts: LiveWorkersParts): { readonly read: () => readonly RevisionWorkers[] } {
  const knownFrom = performance.now() + parts.showMs;
  return {
    read: () => {
      if (performance.now() < knownFrom || !knowsWorkers(parts)) return [];
      const workersOf = countWorkers(parts.leases.driven());
      return parts.registry
        .last()
        .flatMap(({ agent, revisions }) =>
          revisions.flatMap(({ revision, state }) =>
            state === 'retired' ? [] : [{ agent, revision, workers: workersOf({ agent, revision }) }],
          ),
        );
    },
  };
}
