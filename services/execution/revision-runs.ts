import type { Registry } from './record/registry.ts';
import type { ShownRuns, WorkerLeases } from './ports/leases.ts';
import type { RunPool, RunQueue } from './ports/queue.ts';
import type { RegisteredAgent } from '@agent-workflow/protos/threads';
import { poolKey, type SweptRuns } from './worker/open-run-counts.ts';

/** How many runs a registered revision has that a worker may claim or drives. */
interface RevisionCount {
  readonly agent: string;
  readonly revision: string;
  readonly runs: number;
}

/** The runs of each revision, of all processes. */
interface RevisionRuns {
  /** Shows what a sweep has found. */
  readonly see: (swept: SweptRuns) => void;
  /** Counts the queue anew, and reads which revisions are registered. Never rejects. */
  readonly count: () => Promise<void>;
  /** None before the first sweep has been seen and the first count is made. */
  readonly read: () => readonly RevisionCount[];
}

interface RevisionRunsParts {
  readonly queue: Pick<RunQueue, 'backlogs' | 'recount'>;
  readonly leases: Pick<WorkerLeases, 'driven'>;
  readonly registry: Pick<Registry, 'read'>;
}

/**
 * Counts what waits by the queue and what is driven by what the workers show, because a sweep over thousands of runs takes long and is up to
 * half a minute old. The sweep stands in for a queue that cannot be counted, and for workers that show nothing: those
 * that have died, whose runs nobody has taken over yet.
 */
export function createRevisionRuns({ queue, leases, registry }: RevisionRunsParts): RevisionRuns {
  let swept: SweptRuns | undefined;
  let counted: { readonly registered: readonly RegisteredAgent[]; readonly isCounted: boolean } | undefined;
  return {
    see: (found) => {
      if (!swept || found.at >= swept.at) swept = found;
    },
    count: async () => {
      const registered = await registry.read();
      const isCounted = await queue.recount(poolsOf(registered)).then(
        () => true,
        () => false,
      );
      counted = { registered, isCounted };
    },
    read: () => {
      if (!swept || !counted) return [];
      const { registered, isCounted } = counted;
      const waiting = isCounted
        ? queue.backlogs().map((backlog) => ({ ...backlog, runs: backlog.waiting }))
        : [...swept.pools.values()].map((pool) => ({ ...pool, runs: pool.runnable }));
      return sumsOf(registered, [...waiting, ...drivenRuns(leases.driven(), swept)]);
    },
  };
}

/** The revisions of an agent that may have runs. */
const revisionsOf = ({ revisions }: RegisteredAgent): readonly string[] =>
  revisions.filter(({ state }) => state !== 'retired').map(({ revision }) => revision);

/** Where runs of registered agents wait: at their revisions, and without one. */
const poolsOf = (registered: readonly RegisteredAgent[]): readonly RunPool[] =>
  registered.flatMap((each) => [
    { agent: each.agent },
    ...revisionsOf(each).map((revision) => ({ agent: each.agent, revision })),
  ]);

type PoolRuns = RunPool & { readonly runs: number };

/** What workers show, and what the sweep found with workers that show nothing of the agent. */
function drivenRuns(shown: readonly ShownRuns[], { pools }: SweptRuns): readonly PoolRuns[] {
  const showing = new Set(shown.map(({ agent, workerId }) => JSON.stringify([agent, workerId])));
  return [
    ...shown.flatMap(({ agent, revisions }) => revisions.map((each) => ({ ...each, agent }))),
    ...[...pools.values()].flatMap((pool) =>
      [...pool.drivenBy]
        .filter(([workerId]) => !showing.has(JSON.stringify([pool.agent, workerId])))
        .map(([, runs]) => ({ ...pool, runs })),
    ),
  ];
}

/**
 * Of every registered revision that is not retired, also of those without any runs: what scales workers down to none needs a 0. Runs that name
 * no revision count as those of the current one, whose workers take them.
 */
function sumsOf(registered: readonly RegisteredAgent[], all: readonly PoolRuns[]): readonly RevisionCount[] {
  const currents = new Map(registered.map(({ agent, routing }) => [agent, routing.current]));
  const sums = new Map<string, number>();
  for (const { agent, revision, runs } of all) {
    const key = poolKey(agent, revision ?? currents.get(agent));
    sums.set(key, (sums.get(key) ?? 0) + runs);
  }
  return registered.flatMap((each) =>
    revisionsOf(each).map((revision) => ({
      ...{ agent: each.agent, revision },
      runs: sums.get(poolKey(each.agent, revision)) ?? 0,
    })),
  );
}
