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
