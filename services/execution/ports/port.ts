import type { EventBatch } from '@agent-workflow/protos/event-pack';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';

/** A run that waits for a worker. */
export interface RunnableRun {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  /** Set when the worker of the run counts as dead: the epoch of its claim, which is the only one that may be taken over. */
  readonly takeoverEpoch?: number;
  /** Headers for traces and logs (`traceparent`, `x-request-id`): no decision depends on them. */
  readonly trace?: Readonly<Record<string, string>>;
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
   * older epoch is delivered with the newer one, instead or besides.
   */
  readonly enqueue: (run: RunnableRun) => Promise<void>;
  /**
   * The next run, as soon as there is one. Owners take turns, and several owners may share one turn: however many runs an owner
   * has, the runs of another wait for a bounded number of them.
   * @throws the signal's reason when it fires first.
   */
  readonly take: (signal: AbortSignal) => Promise<TakenRun>;
  /**
   * Ends taking here. Once it has resolved, no run is on its way to this replica, and each goes to another one at once. Never
   * rejects.
   */
  readonly leave: () => Promise<void>;
  /** How many runs wait to be taken, as far as is known here: an estimate, by which more are refused. */
  readonly waiting: () => number;
}

/**
 * Which workers are alive. A worker renews its lease by heartbeat. A worker whose lease has expired counts as dead, and its runs
 * may be taken over. It may be alive nevertheless: the epoch on the record keeps it from committing then.
 *
 * Every call settles within a time that the adapter bounds. It is Unavailable when the answer is not known. A worker that cannot
 * renew its lease continues, and a replica that cannot ask takes no runs over.
 */
export interface WorkerLeases extends AsyncDisposable {
  /** The worker counts as alive for `leaseMs` milliseconds from now. */
  readonly renew: (workerId: string, leaseMs: number) => Promise<void>;
  /** Releases the lease: the worker's runs may be taken over at once. Does nothing for a worker without a lease. */
  readonly release: (workerId: string) => Promise<void>;
  /** Whether the worker has renewed its lease, which has neither expired nor been released; false for an unknown worker. */
  readonly isAlive: (workerId: string) => Promise<boolean>;
}

/**
 * Messages between replicas about a run that one of them may be driving. They may get lost: the record has decided before, and
 * refuses later commits of the run.
 */
export interface RunControl extends AsyncDisposable {
  /** Publishes to every replica, this one too, that the run was stopped. */
  readonly stop: (runId: string) => void;
  /** Calls `listener` with each stopped run, until the result is disposed of. */
  readonly onStop: (listener: (runId: string) => void) => Disposable;
}

const terminalKinds: Readonly<Record<EventKind, boolean>> = {
  metadata: false,
  on_chain_start: false,
  on_chain_stream: false,
  messages_chunk: false,
  state_chunk: false,
  context_chunk: false,
  summary_chunk: false,
  on_chain_end: true,
  error: true,
};

/** Whether an event ends its run's log. */
export const isTerminal = ({ kind }: Pick<RunEvent, 'kind'>): boolean => terminalKinds[kind as EventKind];

/**
 * The numbered events of each run: 1, 2, 3 … without a gap, the last one terminal. A log is a replay cache: losing it
 * loses no run. A rebuilt log begins above 1, in numbers of its own (`log-numbers.ts`).
 */
export interface RunLog extends AsyncDisposable {
  /**
   * Adds events of the run that `scope` names. Their numbers follow `after`; in an empty log, `after` being 0, they begin where a
   * log may begin. Once it has resolved, the events survive the death of the process; no follower sees them before. Appends of one
   * run keep the order of the calls. Those of a run without followers may wait a little to be written together.
   * @throws Stale when the log's last number is not `after`, because another worker has the run.
   */
  readonly append: (scope: RunScope, after: number, events: readonly RunEvent[]) => Promise<void>;
  /** Whether the terminal event is stored, or waits to be written. */
  readonly isEnded: (runId: string) => Promise<boolean>;
  /** The last number; 0 when the run has no events. */
  readonly last: (runId: string) => Promise<number>;
  /**
   * Batches of events above `after`, live until the terminal one. Followers do not slow the run down: a slow one reads what is
   * stored.
   */
  readonly follow: (runId: string, after: number, signal: AbortSignal) => AsyncIterable<EventBatch>;
  /** The terminal event, as soon as there is one. @throws the signal's reason when it fires first. */
  readonly end: (runId: string, signal: AbortSignal) => Promise<RunEvent>;
  /** Removes the logs that ended before `time` (milliseconds since 1970), at most `limit` of them; resolves with their number. */
  readonly expire: (time: number, limit: number) => Promise<number>;
  /**
   * Runs whose logs have no terminal event and no event since `time`, and are neither written nor followed right now. The record
   * knows whether the runs are still open. None where the server removes events by their age.
   */
  readonly unended: (time: number) => Promise<readonly string[]>;
  /** Removes these logs, except those that are written or followed right now. */
  readonly drop: (runIds: readonly string[]) => Promise<void>;
}
