import { defaultAgent } from '@agent-workflow/kit/agents';
import { within } from '@agent-workflow/protos/call';
import type { AgentCalls, RegisteredAgent, Run } from '@agent-workflow/protos/threads';
import type { RunQueue } from './ports/queue.ts';

/** How many runs a registered revision has that wait to be claimed or are driven. */
interface RevisionCount {
  readonly agent: string;
  readonly revision: string;
  readonly runs: number;
}

/** The runs of every revision, of all processes, as sweeps read them. */
export interface RevisionRuns {
  /** A sweep begins: reads which revisions are registered. Never rejects. */
  readonly begin: () => Promise<void>;
  /** Counts a page of the sweep. */
  readonly see: (runs: readonly Run[]) => void;
  /** The sweep has read all runs. */
  readonly end: () => void;
  /** Every registered revision that is not retired, also without runs: what scales workers down to none needs a 0. */
  readonly counts: () => readonly RevisionCount[];
}

interface RevisionRunsParts {
  readonly threads: Pick<AgentCalls, 'listRegisteredAgents'>;
  readonly queue: Pick<RunQueue, 'backlogs'>;
}

interface Counted {
  waiting: number;
  driven: number;
}

const callTimeoutMs = 5000;

/**
 * Counts runs by agent and revision. Runs that name no revision count as those of the current one, whose workers take them. The queue
 * is asked as well: a sleeping run whose time has come is in the queue and in no sweep.
 */
export function createRevisionRuns({ threads, queue }: RevisionRunsParts): RevisionRuns {
  let agents: readonly RegisteredAgent[] = [];
  let counting = new Map<string, Counted>();
  let counted = counting;

  const currentOf = (agent: string): string | undefined =>
    agents.find((known) => known.agent === agent)?.routing.current;
  const keyOf = (agent: string, revision = currentOf(agent)): string => JSON.stringify([agent, revision]);

  return {
    begin: async () => {
      counting = new Map();
      try {
        ({ agents } = await threads.listRegisteredAgents({}, within(callTimeoutMs)));
      } catch {
        // The runs are counted by the revisions that were known before.
      }
    },

    see: (runs) => {
      for (const { status, agent = defaultAgent, revision } of runs) {
        if (status !== 'running' && status !== 'queued') continue;
        const key = keyOf(agent, revision);
        const count = counting.get(key) ?? { waiting: 0, driven: 0 };
        if (status === 'running') count.driven++;
        else count.waiting++;
        counting.set(key, count);
      }
    },

    end: () => {
      counted = counting;
    },

    counts: () => {
      const queued = new Map<string, number>();
      for (const { agent, revision, waiting } of queue.backlogs()) {
        const key = keyOf(agent, revision);
        queued.set(key, (queued.get(key) ?? 0) + waiting);
      }
      return agents.flatMap(({ agent, revisions }) =>
        revisions
          .filter(({ state }) => state !== 'retired')
          .map(({ revision }) => {
            const key = keyOf(agent, revision);
            const { waiting = 0, driven = 0 } = counted.get(key) ?? {};
            return { agent, revision, runs: driven + Math.max(waiting, queued.get(key) ?? 0) };
          }),
      );
    },
  };
}
