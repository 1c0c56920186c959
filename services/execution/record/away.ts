import { isServiceError } from '@agent-workflow/kit/errors';
import { retry, serverAway } from '@agent-workflow/kit/retry';

/**
 * Whether a store is unavailable, full or too slow for now, or the workers of the pool call it too often. Such a failure is not the fault of
 * the run.
 */
export const isAway = (error: unknown): boolean =>
  isServiceError(error, 'Unavailable') || isServiceError(error, 'Timeout') || isServiceError(error, 'RateLimited');

/**
 * Whether another service refuses the calls of this worker: its pool, the secret of grants or a clock is not as it is there. The operator
 * has to put that right, and it is not the fault of the run either.
 */
export const isRefused = (error: unknown): boolean => isServiceError(error, 'PermissionDenied');

interface WhileAwayOptions {
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called with the first failure; later ones belong to the same outage. */
  readonly onAway: (error: unknown) => void;
  /** Whether the work can be done again; absent: it always can. */
  readonly mayRepeat?: (() => boolean) | undefined;
  /** Whether a failure is waited for; {@link isAway} when absent. */
  readonly mayPass?: (error: unknown) => boolean;
  /** Time after which the last failure is thrown, in milliseconds. Without it only the signal ends the waiting. */
  readonly forMs?: number;
}

/**
 * Does `work`, and repeats it while the record is unavailable, at intervals that grow to 5 seconds. A write must carry the same
 * attempt id each time, because a write whose answer was lost may have taken effect.
 * @throws any other error of `work` at once; the signal's reason when it fires.
 */
export async function whileAway<T>(
  work: () => Promise<T>,
  { signal, onAway, mayRepeat = () => true, mayPass = isAway, forMs = Infinity }: WhileAwayOptions,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!mayPass(error) || !mayRepeat()) throw error;
    onAway(error);
  }
  const until = performance.now() + forMs;
  return retry(work, {
    ...serverAway,
    signal,
    mayHelp: (error) => mayPass(error) && mayRepeat() && performance.now() < until,
  });
}
