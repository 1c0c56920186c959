import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';

/** How long a run goes on being asked about while nobody answers, in milliseconds: a replica that drains or died has others beside it. */
const insistMs = 10_000;
const firstPauseMs = 50;
const longestPauseMs = 1000;

/**
 * An execution service whose replicas come and go while runs are waited for and followed. Both only look, and begin where they
 * left off: when the replica that was asked goes away, another is, and the caller sees one answer.
 * @throws Unavailable when nobody has answered for 10 seconds.
 */
export const steadyExecution = (execution: Execution): Execution => ({
  ...execution,

  wait: async (request, call) => {
    for (const patience = createPatience(call); ;) {
      patience.begin();
      try {
        return await execution.wait(request, call);
      } catch (error) {
        await patience.after(error);
      }
    }
  },

  async *follow(request, call) {
    let { after } = request;
    for (const patience = createPatience(call); ;) {
      patience.begin();
      try {
        for await (const part of execution.follow({ ...request, after }, call)) {
          yield part;
          after = part.events.at(-1)?.seq ?? after;
          patience.renew();
        }
        return;
      } catch (error) {
        await patience.after(error);
      }
    }
  },
});

interface Patience {
  /** Somebody is asked. */
  readonly begin: () => void;
  /** Pauses, a little longer each time. @throws the error when asking again is of no use, or has been for too long. */
  readonly after: (error: unknown) => Promise<void>;
  /** There was an answer: failures from here on are counted anew. */
  readonly renew: () => void;
}

function createPatience({ signal, deadline }: Call): Patience {
  let failures = 0;
  let failingSince = 0;
  let begunAt = 0;
  return {
    begin: () => {
      begunAt = performance.now();
    },
    renew: () => {
      failures = 0;
    },
    after: async (error) => {
      // Who was waited at for so long was there: a run may have no events for hours, and replicas come and go meanwhile.
      if (performance.now() - begunAt > insistMs) failures = 0;
      if (failures === 0) failingSince = performance.now();
      const pauseMs = Math.min(firstPauseMs * 2 ** failures++, longestPauseMs);
      const isTooLate = performance.now() - failingSince > insistMs || Date.now() + pauseMs > deadline;
      if (signal.aborted || isTooLate || !isAway(error)) throw error;
      await delay(pauseMs, undefined, { signal }).catch(() => {
        throw error;
      });
    },
  };
}

/** A replica that ends cuts its calls: to its callers that is `Cancelled`, though none of them left. */
const isAway = (error: unknown): boolean => isServiceError(error, 'Unavailable') || isServiceError(error, 'Cancelled');
