import type { Log } from '@agent-workflow/kit/log';
import type { RunPool } from '../ports/queue.ts';
import { countWorkers, knowsWorkers, type KnownWorkersParts } from './live-workers.ts';
import type { SweptPool, SweptRuns } from './open-run-counts.ts';

interface UnservedPoolsParts extends KnownWorkersParts {
  readonly log: Log;
  /** A monotonic clock, in milliseconds. */
  readonly elapsed?: () => number;
}

/** Logs of which pools runs wait that have no worker. */
interface UnservedPools {
  /** Shows what a whole sweep has found. */
  readonly see: (swept: Pick<SweptRuns, 'pools'>) => void;
}

interface Unserved extends RunPool {
  readonly since: number;
  readonly isLogged: boolean;
}

/** So long a pool has runs and no worker before it is logged, in milliseconds: one that is scaled from none takes some time to start. */
const usualMs = 20_000;

/**
 * A line when a pool has had runs that wait and no worker for some time, and one when that has ended, however many sweeps there are between. Every
 * replica that accepts runs sees those of all, and logs for itself.
 */
export function createUnservedPools(parts: UnservedPoolsParts): UnservedPools {
  const { leases, log, elapsed = () => performance.now() } = parts;
  let unserved: ReadonlyMap<string, Unserved> = new Map();

  const next = ({ agent, revision }: RunPool, runs: number, before: Unserved | undefined): Unserved => {
    const { since = elapsed(), isLogged = false } = before ?? {};
    const isLate = elapsed() - since >= usualMs;
    if (isLate && !isLogged)
      log.warn({ agent, revision, runs }, 'runs wait, and no worker that holds their agent at their revision is there');
    return { agent, ...(revision === undefined ? {} : { revision }), since, isLogged: isLogged || isLate };
  };

  const findNow = (pools: SweptRuns['pools']): ReadonlyMap<string, Unserved> => {
    const workersOf = countWorkers(leases.driven());
    const living = leases.living();
    return new Map(
      [...pools].flatMap(([key, pool]) => {
        const runs = workersOf(pool) === 0 ? undrivenRuns(pool, living) : 0;
        return runs === 0 ? [] : [[key, next(pool, runs, unserved.get(key))]];
      }),
    );
  };

  return {
    see: ({ pools }) => {
      if (!knowsWorkers(parts)) {
        // Workers show themselves again only some time after this replica is back: the time of what is not logged begins anew.
        unserved = new Map([...unserved].filter(([, { isLogged }]) => isLogged));
        return;
      }
      const found = findNow(pools);
      for (const [key, { agent, revision, isLogged }] of unserved)
        if (isLogged && !found.has(key))
          log.info({ agent, revision }, 'no run of an agent at a revision waits without a worker any more');
      unserved = found;
    },
  };
}

/** The runs that a worker could claim, those of dead workers included; 0 while a live worker drives others of the pool. */
function undrivenRuns({ runnable, drivenBy }: SweptPool, living: ReadonlySet<string>): number {
  const driven = [...drivenBy];
  if (driven.some(([workerId]) => living.has(workerId))) return 0;
  return driven.reduce((sum, [, runs]) => sum + runs, runnable);
}
