import type { AgentBacklog, RunQueue } from './ports/queue.ts';
import { poolKey, type SweptRuns } from './worker/open-run-counts.ts';

/** How many runs a registered revision has that wait to be claimed or are driven. */
interface RevisionCount {
  readonly agent: string;
  readonly revision: string;
  readonly runs: number;
}

/** The runs of each revision, as the last whole sweep and the queue show them. */
interface RevisionRuns {
  /** Shows what a sweep has found. */
  readonly see: (swept: SweptRuns) => Promise<void>;
  readonly read: () => readonly RevisionCount[];
}

/**
 * A run that was claimed between two looks would be counted twice by a sweep that finds it driven and an older count of the queue that still
 * has it. So the queue is counted anew behind each sweep before that one is shown, and is not asked where it cannot be counted.
 */
export function createRevisionRuns(queue: Pick<RunQueue, 'backlogs' | 'recount'>): RevisionRuns {
  let shown: { readonly swept: SweptRuns; readonly isCounted: boolean } | undefined;
  return {
    see: async (swept) => {
      const isCounted = await queue.recount().then(
        () => true,
        () => false,
      );
      if (!shown || swept.at >= shown.swept.at) shown = { swept, isCounted };
    },
    read: () => (shown ? revisionRuns(shown.swept, shown.isCounted ? queue.backlogs() : []) : []),
  };
}

/**
 * The runs of every registered revision that is not retired, also of those without any: what scales workers down to none needs a 0. Runs
 * that name no revision count as those of the current one, whose workers take them. The queue is asked as well: a sleeping run whose time
 * has come is in the queue and in no sweep.
 */
function revisionRuns({ registered, pools }: SweptRuns, backlogs: readonly AgentBacklog[]): readonly RevisionCount[] {
  const currents = new Map(registered.map(({ agent, routing }) => [agent, routing.current]));
  const waiting = new Map<string, number>();
  const driven = new Map<string, number>();
  const queued = new Map<string, number>();
  const add = (sums: Map<string, number>, { agent, revision }: Pick<AgentBacklog, 'agent' | 'revision'>, n: number) => {
    const key = poolKey(agent, revision ?? currents.get(agent));
    sums.set(key, (sums.get(key) ?? 0) + n);
  };
  for (const pool of pools.values()) {
    add(waiting, pool, pool.waiting);
    add(driven, pool, pool.driven);
  }
  for (const backlog of backlogs) add(queued, backlog, backlog.waiting);
  return registered.flatMap(({ agent, revisions }) =>
    revisions
      .filter(({ state }) => state !== 'retired')
      .map(({ revision }) => {
        const of = (sums: ReadonlyMap<string, number>): number => sums.get(poolKey(agent, revision)) ?? 0;
        return { agent, revision, runs: of(driven) + Math.max(of(waiting), of(queued)) };
      }),
  );
}
