import type { CountOpenRunsReply, OpenRuns } from '@agent-workflow/protos/execution';
import type { RegisteredAgent, Run } from '@agent-workflow/protos/threads';

/** The runs of one agent and revision that are on record. */
export interface SweptPool {
  readonly agent: string;
  readonly revision?: string;
  /** Those that wait to be claimed. */
  readonly waiting: number;
  /** Of those, the ones that hold their thread, so that a worker may claim them. */
  readonly runnable: number;
  /** Those that a worker drives, by its id; it is empty where a run names none. */
  readonly drivenBy: ReadonlyMap<string, number>;
}

/** The runs of a pool that a worker drives. */
export const drivenOf = ({ drivenBy }: Pick<SweptPool, 'drivenBy'>): number =>
  [...drivenBy.values()].reduce((sum, runs) => sum + runs, 0);

/** The same while it is counted. */
interface GrowingPool extends SweptPool {
  waiting: number;
  runnable: number;
  readonly drivenBy: Map<string, number>;
}

/** What one whole sweep has found. */
export interface SweptRuns {
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
  /** The agents that were registered when it began. */
  readonly registered: readonly RegisteredAgent[];
  /** By agent and revision. There are at most as many as the service has registered. */
  readonly pools: ReadonlyMap<string, SweptPool>;
  /** When the oldest run was accepted that holds its thread and is not claimed; `undefined` when there is none. */
  readonly oldestAt: number | undefined;
}

/** What one sweep has found so far. */
interface Counting {
  /** To be called with each open run that the sweep finds. */
  readonly add: (run: Pick<Run, 'agent' | 'revision' | 'status' | 'runnable' | 'createdAt' | 'workerId'>) => void;
  /** The sweep has seen every open run. One that fails before is not counted. */
  readonly end: () => void;
}

/** The open runs of each agent and revision, as whole sweeps find them. */
export interface OpenRunCounts {
  readonly begin: (sweep: Pick<SweptRuns, 'at' | 'registered'>) => Counting;
  /** What the last sweep found, with the agents and revisions of the one before. */
  readonly read: () => Omit<CountOpenRunsReply, 'workers'>;
}

/**
 * Keeps two sweeps: a run that is accepted while one of them is under way may be missed by that one, and is found by the other.
 * @param onSwept called with what each whole sweep has found
 */
export function createOpenRunCounts(onSwept: (swept: SweptRuns) => void = () => undefined): OpenRunCounts {
  let last: SweptRuns | undefined;
  let before: SweptRuns | undefined;
  return {
    begin: (sweep) => {
      const pools = new Map<string, GrowingPool>();
      let oldestAt: number | undefined;
      return {
        add: ({ agent, revision, status, runnable, createdAt, workerId = '' }) => {
          if (status !== 'queued' && status !== 'running') return;
          const key = poolKey(agent, revision);
          const none = {
            agent,
            ...(revision === undefined ? {} : { revision }),
            waiting: 0,
            runnable: 0,
            drivenBy: new Map<string, number>(),
          };
          const pool = pools.get(key) ?? none;
          pools.set(key, pool);
          if (status === 'running') {
            pool.drivenBy.set(workerId, (pool.drivenBy.get(workerId) ?? 0) + 1);
            return;
          }
          pool.waiting++;
          if (!runnable) return;
          pool.runnable++;
          oldestAt = Math.min(oldestAt ?? Infinity, createdAt);
        },
        end: () => {
          before = last;
          last = { ...sweep, pools, oldestAt };
          onSwept(last);
        },
      };
    },
    read: () => {
      const gone = [...(before?.pools ?? [])].filter(([key]) => last?.pools.has(key) !== true);
      const counts = [
        ...[...(last?.pools.values() ?? [])].map((pool) => toOpenRuns(pool, pool.waiting + drivenOf(pool))),
        ...gone.map(([, pool]) => toOpenRuns(pool, 0)),
      ];
      return { counts, ...(before === undefined ? {} : { twoSweepsSince: before.at }) };
    },
  };
}

const toOpenRuns = ({ agent, revision }: SweptPool, runs: number): OpenRuns => ({
  ...{ agent, runs },
  ...(revision === undefined ? {} : { revision }),
});

/** Names an agent at a revision, or an agent without one. */
export const poolKey = (agent: string, revision: string | undefined): string => JSON.stringify([agent, revision]);
