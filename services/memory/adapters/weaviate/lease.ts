import { every } from '@agent-workflow/kit/life';
import type { Marks } from './marks.ts';

interface LeaseOptions {
  readonly marks: Marks;
  /** What the lease is for: one process at a time has it. */
  readonly kind: string;
  /** Names this process. */
  readonly holder: string;
  readonly onFailure: (error: unknown) => void;
}

const renewMs = 2000;
/** A holder that has not renewed its lease for so long, by the server's clock, is dead. */
const leaseMs = 8000;

/**
 * Does `work` unless another process has the lease. Whoever is paused for longer than the lease lasts may work beside the next
 * holder, so `work` must be harmless when it is done twice.
 * @returns whether it was done.
 * @throws Unavailable when the store of the lease is away.
 */
export async function withLease(
  { marks, kind, holder, onFailure }: LeaseOptions,
  work: () => Promise<void>,
): Promise<boolean> {
  const take = async (): Promise<boolean> => {
    const standing = await marks.read(kind);
    const now = await marks.readClock();
    if (standing && standing.value !== holder && standing.updatedAt > now - leaseMs) return false;
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
    // A lease that cannot be given up ends by itself.
    await marks.clear(kind, '').catch(onFailure);
  }
}
