import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { WorkerLeases } from '../ports/port.ts';

export interface LeaseOptions {
  readonly leases: WorkerLeases;
  readonly workerId: string;
  /** How long the worker is thought alive after it was last heard of, in milliseconds. */
  readonly leaseMs: number;
  readonly logger: Log;
}

/** One worker's lease, renewed until it is given up. Disposing of it only stops renewing, as a death would. */
export interface Lease extends AsyncDisposable {
  /** Gives the lease up for good: whatever the worker still has may be taken over at once. */
  readonly release: () => Promise<void>;
}

/** Renewals that may fail in a row before the lease has run out. */
const renewalsPerLease = 3;

/**
 * Holds a worker's lease by heartbeat. A worker that cannot renew it goes on: if another takes over what it has, the fence
 * refuses its next commit, and if nobody does, nothing was lost.
 */
export async function holdLease({ leases, workerId, leaseMs, logger }: LeaseOptions): Promise<Lease> {
  const renew = async (): Promise<void> => leases.renew(workerId, leaseMs);
  const warn = (error: unknown): void => {
    logger.warn({ err: error, workerId }, 'the lease could not be renewed; its runs may be taken over');
  };
  await renew().catch(warn);
  const heartbeat = every(leaseMs / renewalsPerLease, renew, warn);
  return {
    release: async () => {
      // A renewal under way must not come after it.
      await heartbeat[Symbol.asyncDispose]();
      await leases.release(workerId);
    },
    [Symbol.asyncDispose]: async () => heartbeat[Symbol.asyncDispose](),
  };
}
