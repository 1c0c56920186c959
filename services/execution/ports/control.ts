/**
 * Messages between replicas about a run that one of them may be driving. They may get lost: the record has decided before, and
 * refuses later commits of the run.
 */
export interface RunControl extends AsyncDisposable {
  /**
   * Publishes to every replica, this one too, that the run was stopped. Workers that belong to a pool receive only what names the agent
   * of the run: it is called again with the agent, once that is known.
   */
  readonly stop: (runId: string, agent?: string) => void;
  /** Calls `listener` with each stopped run, until the result is disposed of. */
  readonly onStop: (listener: (runId: string) => void) => Disposable;
}
