import { defaultAgent } from '@agent-workflow/kit/agents';
import type { CountOpenRunsReply, OpenRuns } from '@agent-workflow/protos/execution';
import type { RegisteredAgent, Run } from '@agent-workflow/protos/threads';

/** The runs of one agent and revision that are on record. */
interface SweptPool {
  readonly agent: string;
  readonly revision?: string;
  /** Those that wait to be claimed. */
  readonly waiting: number;
  /** Those that a worker drives. */
  readonly driven: number;
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
  /** Shows an open run of the sweep. */
  readonly see: (run: Pick<Run, 'agent' | 'revision' | 'status' | 'runnable' | 'createdAt'>) => void;
  /** The sweep has seen every open run. One that fails before is not counted. */
  readonly end: () => void;
}

/** The open runs of each agent and revision, as whole sweeps find them. */
export interface OpenRunCounts {
  readonly begin: (sweep: Pick<SweptRuns, 'at' | 'registered'>) => Counting;
  /** What the last sweep found, with the agents and revisions of the one before. */
  readonly read: () => CountOpenRunsReply;
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
      const pools = new Map<string, SweptPool>();
      let oldestAt: number | undefined;
      return {
        see: ({ agent = defaultAgent, revision, status, runnable, createdAt }) => {
          if (status !== 'queued' && status !== 'running') return;
          const key = poolKey(agent, revision);
          const of = { agent, ...(revision === undefined ? {} : { revision }) };
          const { waiting, driven } = pools.get(key) ?? { waiting: 0, driven: 0 };
          if (status === 'running') {
            pools.set(key, { ...of, waiting, driven: driven + 1 });
            return;
          }
          pools.set(key, { ...of, waiting: waiting + 1, driven });
          if (runnable) oldestAt = Math.min(oldestAt ?? Infinity, createdAt);
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
        ...[...(last?.pools.values() ?? [])].map((pool) => toOpenRuns(pool, pool.waiting + pool.driven)),
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
