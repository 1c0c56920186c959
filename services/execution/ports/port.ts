import type { EventBatch } from '@agent-workflow/protos/event-pack';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';

/** A run that wants a worker. */
export interface RunnableRun {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  /** Set when a worker had the run that is thought dead: the epoch of its claim, the only one that may be taken over. */
  readonly takeoverEpoch?: number;
  /** What goes along for tracing (`traceparent`, `x-request-id`): nothing is decided by it. */
  readonly trace?: Readonly<Record<string, string>>;
}

/** A run that was taken from the queue. */
export interface TakenRun {
  readonly run: RunnableRun;
  /**
   * Says that the record has decided who drives it: a queue that is not told may hand the run out again. It may be called
   * more than once, and after the queue was closed; nothing comes of it then.
   */
  readonly settle: () => void;
}

/**
 * Runs that hold their thread and wait for a worker. A queue may lose or repeat: the run record decides what is run, and
 * whatever was lost is put back from there.
 */
export interface RunQueue extends AsyncDisposable {
  /**
   * A run that waits already with the same `takeoverEpoch`, or with none, is not added a second time. One that waits with
   * an epoch that is past is handed out with the newer one, instead or besides.
   */
  readonly enqueue: (run: RunnableRun) => Promise<void>;
  /**
   * The next run, as soon as there is one. Owners take turns, of which several may share one: however many runs an owner has,
   * another's wait for a bounded number of them.
   * @throws the signal's reason when it fires first.
   */
  readonly take: (signal: AbortSignal) => Promise<TakenRun>;
  /**
   * Nothing is taken here any more. Once it has resolved, no run is on its way to this replica: each goes to another at once.
   * It never rejects.
   */
  readonly leave: () => Promise<void>;
  /** How many runs wait to be taken, as far as is known here: a hint to refuse more by. */
  readonly waiting: () => number;
}

/**
 * Which workers live. A worker renews its lease by heartbeat; one whose lease has run out is thought dead, and its runs may be
 * taken over. That is only a guess about time: what keeps a worker that still lives from committing is the epoch.
 *
 * Every call settles, within a time that the adapter bounds; it is Unavailable where that is not known. A worker that cannot
 * renew goes on, and nobody's runs are taken over by whoever cannot ask.
 */
export interface WorkerLeases extends AsyncDisposable {
  /** Takes the worker for alive for `leaseMs` milliseconds from now. */
  readonly renew: (workerId: string, leaseMs: number) => Promise<void>;
  /** Gives the lease up: whatever the worker still has is to be had at once. One that is not held is given up already. */
  readonly release: (workerId: string) => Promise<void>;
  /** Whether the worker renewed its lease and has neither let it run out nor given it up; false for one never heard of. */
  readonly isHeld: (workerId: string) => Promise<boolean>;
}

/**
 * Word between replicas about a run that one of them may be driving. It may get lost: the record has decided before, and
 * refuses whatever the run still does.
 */
export interface RunControl extends AsyncDisposable {
  /** Tells every replica, this one too, that the run was stopped. */
  readonly stop: (runId: string) => void;
  /** Calls `listener` with each run that is told to be stopped, until what is given back is disposed of. */
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
 * loses no run. One that was lost and is told again begins above 1, in numbers of its own (`log-numbers.ts`).
 */
export interface RunLog extends AsyncDisposable {
  /**
   * Adds events of the run that `scope` names, whose numbers follow `after`; to a log that is empty, `after` being 0, from wherever a log may begin. What has
   * resolved survives the death of the process, and nobody is shown an event before that. Appends of one run keep the order
   * of the calls; those of a run that nobody follows may wait a little to be written together.
   * @throws Stale when the log's last number is not `after`: another worker has the run.
   */
  readonly append: (scope: RunScope, after: number, events: readonly RunEvent[]) => Promise<void>;
  /** Whether the terminal event is there, or on its way. */
  readonly isEnded: (runId: string) => Promise<boolean>;
  /** The last number; 0 when the run has no events. */
  readonly last: (runId: string) => Promise<number>;
  /**
   * Batches of events above `after`, live until the terminal one. However many follow, the run is not slowed; a slow
   * follower is fed from what is stored.
   */
  readonly follow: (runId: string, after: number, signal: AbortSignal) => AsyncIterable<EventBatch>;
  /** The terminal event, as soon as there is one. @throws the signal's reason when it fires first. */
  readonly end: (runId: string, signal: AbortSignal) => Promise<RunEvent>;
  /** Removes the logs that ended before `time` (milliseconds since 1970), at most `limit` of them; gives how many. */
  readonly expire: (time: number, limit: number) => Promise<number>;
  /**
   * Runs whose logs have no terminal event, got none after `time`, and are neither written nor followed right now; whether they
   * are still open the record knows. None where the server removes events by their age.
   */
  readonly unended: (time: number) => Promise<readonly string[]>;
  /** Removes these logs, but for those that are written or followed right now. */
  readonly drop: (runIds: readonly string[]) => Promise<void>;
}
