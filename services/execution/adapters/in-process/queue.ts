import { defaultAgent } from '@agent-workflow/kit/agents';
import {
  mostPasses,
  priorityOf,
  type AgentBacklog,
  type HeldAgents,
  type RunnableRun,
  type RunQueue,
  type TakenRun,
} from '../../ports/queue.ts';

/** A worker that waits for a run, among the others that do. */
class Taker {
  /** The pools that it takes runs of. */
  readonly pools: readonly string[];
  readonly #others: Set<Taker>;
  readonly #signal: AbortSignal;
  readonly #taken = Promise.withResolvers<TakenRun>();

  constructor(pools: readonly string[], others: Set<Taker>, signal: AbortSignal) {
    this.pools = pools;
    this.#others = others;
    this.#signal = signal;
    others.add(this);
    signal.addEventListener('abort', this);
  }

  /** The run, once there is one; rejects with the signal's reason when it fires first. */
  get taken(): Promise<TakenRun> {
    return this.#taken.promise;
  }

  give(run: RunnableRun): void {
    this.#leave();
    this.#taken.resolve(taken(run));
  }

  /** The signal has fired. */
  handleEvent(): void {
    this.#leave();
    this.#taken.reject(this.#signal.reason as Error);
  }

  #leave(): void {
    this.#others.delete(this);
    this.#signal.removeEventListener('abort', this);
  }
}

/** A queue inside the process. The runs that it loses with the process are enqueued again from the record. */
export function openInProcessRunQueue(): RunQueue {
  const takers = new Set<Taker>();
  const runs = createFairQueue();

  return {
    enqueue: (run) => {
      const pool = poolOf(run);
      const taker = [...takers].find(({ pools }) => pools.includes(pool));
      if (taker) taker.give(run);
      else runs.add(run);
      return Promise.resolve();
    },

    waiting: runs.waiting,
    backlogs: runs.backlogs,
    recount: () => Promise.resolve(),

    // No other replica takes the runs of this process.
    leave: () => Promise.resolve(),

    take: async (held, signal) => {
      signal.throwIfAborted();
      const pools = poolsOf(held);
      const first = runs.next(pools);
      return first ? taken(first) : new Taker(pools, takers, signal).taken;
    },

    [Symbol.asyncDispose]: () => {
      runs.clear();
      return Promise.resolve();
    },
  };
}

/** Runs are delivered once here, so that nothing needs to be settled. */
const taken = (run: RunnableRun): TakenRun => ({ run, settle: () => undefined });

/** The waiting runs, in the order in which workers get them: agents take turns, and among the runs of an agent its owners do. */
interface FairQueue {
  /** A run that waits keeps its position; the newest epoch says which claim of it may be taken over, and its highest priority counts. */
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
  readonly owners: Map<string, Lane>;
  waiting: number;
}

/** The waiting runs of one owner, the oldest first. */
interface Lane {
  readonly runs: Map<string, RunnableRun>;
  /** How many of them have a priority. */
  urgent: number;
  /** How many turns in a row have gone to others than the oldest. */
  passes: number;
}

function createFairQueue(): FairQueue {
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
  const lane = pool.owners.get(run.owner) ?? { runs: new Map<string, RunnableRun>(), urgent: 0, passes: 0 };
  pool.owners.set(run.owner, lane);
  const known = lane.runs.get(run.runId);
  if (!known) pool.waiting++;
  const newest = known && epochOf(known) >= epochOf(run) ? known : run;
  const priority = Math.max(priorityOf(run), priorityOf(known ?? run));
  if (priority > 0 && priorityOf(known ?? {}) === 0) lane.urgent++;
  lane.runs.set(run.runId, priorityOf(newest) === priority ? newest : { ...newest, priority });
}

/** The pool has at least one run. */
function nextOf(pool: Pool): RunnableRun | undefined {
  const [first] = pool.owners;
  if (!first) return undefined;
  const [owner, lane] = first;
  const run = turnOf(lane);
  pool.owners.delete(owner);
  if (!run) return undefined;
  lane.runs.delete(run.runId);
  if (priorityOf(run) > 0) lane.urgent--;
  if (lane.runs.size > 0) pool.owners.set(owner, lane);
  pool.waiting--;
  return run;
}

/** The run of an owner that has the owner's turn. */
function turnOf(lane: Lane): RunnableRun | undefined {
  const [oldest] = lane.runs.values();
  if (lane.urgent === 0 || !oldest) return oldest;
  let best = oldest;
  for (const run of lane.runs.values()) if (priorityOf(run) > priorityOf(best)) best = run;
  const isPassed = best !== oldest && lane.passes < mostPasses;
  lane.passes = isPassed ? lane.passes + 1 : 0;
  return isPassed ? best : oldest;
}

const epochOf = ({ takeoverEpoch }: RunnableRun): number => takeoverEpoch ?? -1;
