import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';

/** How long a call is tried again while no replica answers, in milliseconds. */
const retryMs = 10_000;
const firstPauseMs = 50;
const maxPauseMs = 1000;

/**
 * An execution service whose `wait` and `follow` survive the end of the replica that serves them. Both only read, so they are
 * sent again to another replica, `follow` after the last event that arrived, and the caller sees one reply.
 * @throws Unavailable when no replica has answered for 10 seconds.
 */
export const retryingExecution = (execution: Execution): Execution => ({
  ...execution,

  wait: async (request, call) => {
    for (const retries = createRetries(call); ;) {
      retries.begin();
      try {
        return await execution.wait(request, call);
      } catch (error) {
        await retries.after(error);
      }
    }
  },

  async *follow(request, call) {
    let { after } = request;
    for (const retries = createRetries(call); ;) {
      retries.begin();
      try {
        for await (const part of execution.follow({ ...request, after }, call)) {
          yield part;
          after = part.events.at(-1)?.seq ?? after;
          retries.reset();
        }
        return;
      } catch (error) {
        await retries.after(error);
      }
    }
  },
});

interface Retries {
  /** An attempt begins. */
  readonly begin: () => void;
  /** Pauses, twice as long each time. @throws the error when a retry cannot help, or attempts have failed for too long. */
  readonly after: (error: unknown) => Promise<void>;
  /** An attempt had a result: later failures count from zero. */
  readonly reset: () => void;
}

function createRetries({ signal, deadline }: Call): Retries {
  let failures = 0;
  let failingSince = 0;
  let begunAt = 0;
  return {
    begin: () => {
      begunAt = performance.now();
    },
    reset: () => {
      failures = 0;
    },
    after: async (error) => {
      // An attempt of this length was served: a run may have no events for hours, while replicas are replaced.
      if (performance.now() - begunAt > retryMs) failures = 0;
      if (failures === 0) failingSince = performance.now();
      const pauseMs = Math.min(firstPauseMs * 2 ** failures++, maxPauseMs);
      const isTooLate = performance.now() - failingSince > retryMs || Date.now() + pauseMs > deadline;
      if (signal.aborted || isTooLate || !mayBeServedElsewhere(error)) throw error;
      await delay(pauseMs, undefined, { signal }).catch(() => {
        throw error;
      });
    },
  };
}

/** A replica that ends cancels its calls: its callers get `Cancelled`, although none of them disconnected. */
const mayBeServedElsewhere = (error: unknown): boolean =>
  isServiceError(error, 'Unavailable') || isServiceError(error, 'Cancelled');
