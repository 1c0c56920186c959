import { isServiceError } from '@agent-workflow/kit/errors';
import { retry, serverAway } from '@agent-workflow/kit/retry';

/** Whether the record is away, full or too slow for now: what failed for that is no fault of the run. */
export const isAway = (error: unknown): boolean =>
  isServiceError(error, 'Unavailable') || isServiceError(error, 'Timeout');

export interface WhileAwayOptions {
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called with the first failure; those that follow it are the same outage. */
  readonly onAway: (error: unknown) => void;
  /** Time after which the last failure is thrown, in milliseconds; without it there is no end but the signal. */
  readonly forMs?: number;
}

/**
 * Does `work` as soon as the record takes it: while that is away, again and again at intervals that grow to 5 seconds. A write
 * carries the same attempt id each time, because one whose answer was lost may have taken effect.
 * @throws whatever else `work` throws, and the signal's reason when it fires.
 */
export async function whileAway<T>(
  work: () => Promise<T>,
  { signal, onAway, forMs = Infinity }: WhileAwayOptions,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isAway(error)) throw error;
    onAway(error);
  }
  const until = performance.now() + forMs;
  return retry(work, {
    ...serverAway,
    signal,
    mayHelp: (error) => isAway(error) && performance.now() < until,
  });
}
