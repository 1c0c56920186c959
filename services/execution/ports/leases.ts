/** The longest lease, in milliseconds. */
export const maxLeaseMs = 600_000;

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
  /** The workers whose leases are known here to hold, without asking anybody. One that is absent may be alive. */
  readonly living: () => ReadonlySet<string>;
  /** Publishes to every replica how many runs the worker drives of these agents. It may get lost, and nothing waits for its arrival. */
  readonly showDriven: (workerId: string, driven: readonly DrivenRuns[]) => void;
  /** What the workers that are known here to live have shown last of each agent. */
  readonly driven: () => readonly ShownRuns[];
}

/** How many runs of an agent a worker drives: also 0, of the revision that it holds. */
export interface DrivenRuns {
  readonly agent: string;
  readonly revisions: readonly { readonly revision?: string; readonly runs: number }[];
}

export interface ShownRuns extends DrivenRuns {
  readonly workerId: string;
}
