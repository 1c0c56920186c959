/** A run that waits for a worker. */
export interface RunnableRun {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  /** The agent whose run it is. Absent: `default`. */
  readonly agent?: string;
  /** The revision of the agent that alone may run it. Absent: any worker without a revision, or with any. */
  readonly revision?: string;
  /** Set when the worker of the run counts as dead: the epoch of its claim, which is the only one that may be taken over. */
  readonly takeoverEpoch?: number;
  /** How early it is taken among the waiting runs of its owner, from 0 to 9. Absent: 0, the last. */
  readonly priority?: number;
  /** Headers for traces and logs (`traceparent`, `x-request-id`): no decision depends on them. */
  readonly trace?: Readonly<Record<string, string>>;
}

/** How early a run is taken among the waiting runs of its owner. */
export const priorityOf = ({ priority = 0 }: Pick<RunnableRun, 'priority'>): number => priority;
export const highestPriority = 9;

/** So many turns of an owner in a row may go to runs with a higher priority than that of the run that waits for longest; the next is its own. */
export const mostPasses = 8;

/** The agents that a worker holds. */
export interface HeldAgents {
  /** Their names. An agent without a name is `default`. */
  readonly agents: readonly string[];
  /** The revision of all of them. Absent: the worker takes only runs without a revision. */
  readonly revision?: string;
}

/** The runs of an agent, at a revision or without one. */
export interface RunPool {
  readonly agent: string;
  readonly revision?: string;
}

/** How many runs of an agent wait. */
export interface AgentBacklog extends RunPool {
  readonly waiting: number;
}

/** A run that was taken from the queue. */
export interface TakenRun {
  readonly run: RunnableRun;
  /**
   * To be called once the record has decided which worker drives the run. A queue may deliver an unsettled run again. Further
   * calls, and calls after the queue was closed, do nothing.
   */
  readonly settle: () => void;
}

/**
 * Runs that are active on their thread and wait for a worker. A queue may lose and repeat runs: the record decides what is run,
 * and lost runs are enqueued again from there.
 */
export interface RunQueue extends AsyncDisposable {
  /**
   * A run that waits already with the same `takeoverEpoch`, or with none, is not added a second time. A run that waits with an
   * older epoch, or a lower priority, is delivered with the newer one, or the higher, instead or besides.
   */
  readonly enqueue: (run: RunnableRun) => Promise<void>;
  /**
   * The next run of an agent that is held, as soon as there is one: a run without a revision, or of the held one. Owners take turns,
   * and several owners may share one turn: however many runs an owner has, the runs of another wait for a bounded number of them.
   * Agents take turns likewise. An owner's turn goes to its run with the highest priority, and of these to the one that waits for longest; after
   * {@link mostPasses} turns to the run that waits for longest. A queue that many replicas share may see a priority a moment late.
   * @throws the signal's reason when it fires first.
   */
  readonly take: (held: HeldAgents, signal: AbortSignal) => Promise<TakenRun>;
  /**
   * Ends taking here. Once it has resolved, no run is on its way to this replica, and each goes to another one at once. Never
   * rejects.
   */
  readonly leave: () => Promise<void>;
  /** How many runs wait to be taken, of all agents or of one, as far as is known here: an estimate, by which more are refused. */
  readonly waiting: (agent?: string) => number;
  /** The same by agent and revision, for those of which this replica has seen runs. */
  readonly backlogs: () => readonly AgentBacklog[];
  /**
   * Counts them anew, and with them `pools`, of which this replica need not have seen runs: what `backlogs` says from then on is not older
   * than this call. A run that is being claimed may be in it.
   * @throws Unavailable when they cannot be counted; then nothing is counted anew.
   */
  readonly recount: (pools?: readonly RunPool[]) => Promise<void>;
}

/** What the record says of a run as a worker of a pool names it: it waits or is driven, it is past that, or there is no such run. */
export type OnRecord = 'open' | 'over' | 'unknown';
