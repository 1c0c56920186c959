import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { WorkerLeases } from '../ports/leases.ts';

interface LeaseOptions {
  readonly leases: WorkerLeases;
  readonly workerId: string;
  /** How long the worker counts as alive after its last heartbeat, in milliseconds. */
  readonly leaseMs: number;
  readonly log: Log;
}

/** One worker's lease, renewed until it is released. Disposing of it only stops the renewal, as a death does. */
export interface Lease extends AsyncDisposable {
  /** Releases the lease for good: the worker's runs may be taken over at once. */
  readonly release: () => Promise<void>;
}

/** Renewals in the time of one lease: so many may fail in a row before it expires. */
const renewalsPerLease = 3;

/**
 * Keeps a worker's lease by heartbeat. A worker that cannot renew it continues: if another worker takes its runs over, the fence
 * refuses its next commit; if none does, nothing is lost.
 */
export async function holdLease({ leases, workerId, leaseMs, log }: LeaseOptions): Promise<Lease> {
  const renew = async (): Promise<void> => leases.renew(workerId, leaseMs);
  const warn = (error: unknown): void => {
    log.warn({ err: error, workerId }, 'the lease could not be renewed; its runs may be taken over');
  };
  await renew().catch(warn);
  const heartbeat = every(leaseMs / renewalsPerLease, renew, warn);
  return {
    release: async () => {
      // A renewal that is under way must not arrive after the release.
      await heartbeat[Symbol.asyncDispose]();
      await leases.release(workerId);
    },
    [Symbol.asyncDispose]: async () => heartbeat[Symbol.asyncDispose](),
  };
}
