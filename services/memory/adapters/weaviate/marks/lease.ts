import { every } from '@agent-workflow/kit/life';
import type { Marks } from './marks.ts';

interface LeaseOptions {
  readonly marks: Marks;
  /** Names the lease. One process at a time has it. */
  readonly kind: string;
  /** Names this process. */
  readonly holder: string;
  readonly onFailure: (error: unknown) => void;
}

const renewMs = 2000;
/** After this time without renewal, by the server's clock, a lease has expired. */
const leaseMs = 8000;

/**
 * Does `work` unless another process has the lease. A process that is frozen for longer than the lease may work at the same time as
 * the next holder, so `work` must be harmless when it is done twice.
 * @returns whether `work` was done.
 * @throws Unavailable when the store of the lease cannot be reached.
 */
export async function withLease(
  { marks, kind, holder, onFailure }: LeaseOptions,
  work: () => Promise<void>,
): Promise<boolean> {
  const take = async (): Promise<boolean> => {
    const current = await marks.read(kind);
    const now = await marks.readClock();
    if (current && current.value !== holder && current.updatedAt > now - leaseMs) return false;
    await marks.write(kind, '', holder);
    return true;
  };
  if (!(await marks.hold(kind, take))) return false;
  const renewing = every(renewMs, async () => marks.write(kind, '', holder), onFailure);
  try {
    await work();
    return true;
  } finally {
    await renewing[Symbol.asyncDispose]();
    // A lease that cannot be released expires.
    await marks.clear(kind, '').catch(onFailure);
  }
}
