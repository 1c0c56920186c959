import { defaultAgent } from '@agent-workflow/kit/agents';
import type { CountOpenRunsReply, OpenRuns } from '@agent-workflow/protos/execution';
import { awakeStatuses, type RunStatus } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';

/** What one sweep has found so far. */
interface Counting {
  /** Shows an open run of the sweep. */
  readonly see: (run: Pick<Run, 'agent' | 'revision' | 'status'>) => void;
  /** The sweep has seen every open run. One that fails before is not counted. */
  readonly end: () => void;
}

/** The open runs of each agent and revision, as whole sweeps find them. */
export interface OpenRunCounts {
  /** @param at when the sweep begins, in milliseconds since 1970 */
  readonly begin: (at: number) => Counting;
  /** What the last sweep found, with the agents and revisions of the one before. */
  readonly read: () => CountOpenRunsReply;
}

interface Sweep {
  readonly at: number;
  /** By agent and revision. There are at most as many as the service has registered. */
  readonly found: ReadonlyMap<string, OpenRuns>;
}

/** Keeps two sweeps: a run that is accepted while one of them is under way may be missed by that one, and is found by the other. */
export function createOpenRunCounts(): OpenRunCounts {
  let last: Sweep | undefined;
  let before: Sweep | undefined;
  return {
    begin: (at) => {
      const found = new Map<string, OpenRuns>();
      return {
        see: ({ agent = defaultAgent, revision, status }) => {
          if (!isAwake(status)) return;
          const of = { agent, ...(revision === undefined ? {} : { revision }) };
          const key = keyOf(of);
          found.set(key, { ...of, runs: (found.get(key)?.runs ?? 0) + 1 });
        },
        end: () => {
          before = last;
          last = { at, found };
        },
      };
    },
    read: () => {
      const gone = [...(before?.found ?? [])].filter(([key]) => last?.found.has(key) !== true);
      const counts = [...(last?.found.values() ?? []), ...gone.map(([, of]) => ({ ...of, runs: 0 }))];
      return { counts, ...(before === undefined ? {} : { twoSweepsSince: before.at }) };
    },
  };
}

const isAwake = (status: RunStatus): boolean => (awakeStatuses as readonly RunStatus[]).includes(status);

const keyOf = ({ agent, revision }: Pick<OpenRuns, 'agent' | 'revision'>): string => JSON.stringify([agent, revision]);
