import { unavailable } from '@agent-workflow/kit/errors';
import { backoffMs, pause, type Backoff } from '@agent-workflow/kit/retry';

interface ConflictOptions {
  /** Called when there were too many, before the error. */
  readonly onTooMany: () => void;
  /** Ends the waits. */
  readonly closing: AbortSignal;
}

/** The refusals that the frames of one append have met because another message of the log was stored first. */
export interface Conflicts {
  /** Waits before the frame is sent again, after the first refusal not at all. @throws Unavailable when there were too many. */
  readonly wait: () => Promise<void>;
}

/** An append meets one or two: so many mean that something else writes all the time. With these waits they take about three seconds. */
const maxConflicts = 20;
const backoff: Backoff = { firstMs: 10, maxMs: 250 };

/**
 * Bounds how often an append is tried again after messages that its writer has not written. Workers of a pool may put any number of
 * them among the events of their agents' runs, and no run waits for its log without a bound.
 */
export function createConflicts({ onTooMany, closing }: ConflictOptions): Conflicts {
  let count = 0;
  return {
    wait: async () => {
      count++;
      if (count > maxConflicts) {
        onTooMany();
        throw unavailable('the event log cannot be written: other messages come first all the time');
      }
      if (count > 1) await pause(backoffMs(backoff, count - 1), closing);
    },
  };
}
