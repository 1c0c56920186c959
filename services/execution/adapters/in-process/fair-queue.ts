import { defaultAgent } from '@agent-workflow/kit/agents';
import type { AgentBacklog, HeldAgents, RunnableRun } from '../../ports/queue.ts';

/** The waiting runs, in the order in which workers get them: agents take turns, and among the runs of an agent its owners do. */
export interface FairQueue {
  /** A run that waits keeps its position; the newest epoch says which claim of it may be taken over. */
  readonly add: (run: RunnableRun) => void;
  /** Removes the run whose turn it is among these pools. */
  readonly next: (pools: readonly string[]) => RunnableRun | undefined;
  readonly waiting: (agent?: string) => number;
  readonly backlogs: () => readonly AgentBacklog[];
  readonly clear: () => void;
}

type Named = Pick<RunnableRun, 'agent' | 'revision'>;

/** The pool of workers that may take a run, as a key. */
export const poolOf = ({ agent = defaultAgent, revision }: Named): string => JSON.stringify([agent, revision]);

/** The pools whose runs a worker takes. */
export const poolsOf = ({ agents, revision }: HeldAgents): readonly string[] => [
  ...agents.map((agent) => poolOf({ agent })),
  ...(revision === undefined ? [] : agents.map((agent) => poolOf({ agent, revision }))),
];

/** The waiting runs of one agent and revision, by owner. */
interface Pool {
  readonly agent: string;
  readonly revision: string | undefined;
  readonly owners: Map<string, Map<string, RunnableRun>>;
  waiting: number;
}

export function createFairQueue(): FairQueue {
  // Maps keep their keys in order of insertion: the first pool and the first owner have the turn, and a first run is the oldest.
  const pools = new Map<string, Pool>();

  return {
    add: (run) => {
      const { agent = defaultAgent, revision } = run;
      const key = poolOf(run);
      const pool = pools.get(key) ?? { agent, revision, owners: new Map(), waiting: 0 };
      pools.set(key, pool);
      addTo(pool, run);
    },

    next: (held) => {
      const wanted = new Set(held);
      for (const [key, pool] of pools) {
        if (!wanted.has(key)) continue;
        pools.delete(key);
        const run = nextOf(pool);
        if (pool.waiting > 0) pools.set(key, pool);
        return run;
      }
      return undefined;
    },

    waiting: (agent) =>
      [...pools.values()].reduce(
        (sum, pool) => sum + (agent === undefined || pool.agent === agent ? pool.waiting : 0),
        0,
      ),

    backlogs: () =>
      [...pools.values()].map(({ agent, revision, waiting }) => ({
        ...{ agent, waiting },
        ...(revision === undefined ? {} : { revision }),
      })),

    clear: () => pools.clear(),
  };
}

function addTo(pool: Pool, run: RunnableRun): void {
  const lane = pool.owners.get(run.owner) ?? new Map<string, RunnableRun>();
  pool.owners.set(run.owner, lane);
  const known = lane.get(run.runId);
  if (!known) pool.waiting++;
  if (!known || epochOf(run) > epochOf(known)) lane.set(run.runId, run);
}

/** The pool has at least one run. */
function nextOf(pool: Pool): RunnableRun | undefined {
  const [first] = pool.owners;
  if (!first) return undefined;
  const [owner, lane] = first;
  const [run] = lane.values();
  pool.owners.delete(owner);
  if (!run) return undefined;
  lane.delete(run.runId);
  if (lane.size > 0) pool.owners.set(owner, lane);
  pool.waiting--;
  return run;
}

const epochOf = ({ takeoverEpoch }: RunnableRun): number => takeoverEpoch ?? -1;
