import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import type { RunCalls } from '@agent-workflow/protos/threads';
import { growingSilence } from '@agent-workflow/runtime/retries';

interface RecordClockOptions {
  readonly threads: Pick<RunCalls, 'claimRun'>;
  /** The clock of this process, in milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
}

/** The clock of the record, as far as this process knows it. */
interface RecordClock {
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Claims, and reads the record's clock in the reply. */
  readonly claimRun: RunCalls['claimRun'];
}

/** Clocks that differ by no more than this count as the same, in milliseconds. */
const sameMs = 1000;

/**
 * The clock by which runs sleep and commits are dated, whatever the clock of this process shows. Until the first claim it
 * is the clock of this process.
 */
export function createRecordClock({ threads, now, log }: RecordClockOptions): RecordClock {
  const isFirst = createFirstOfKind({ ...growingSilence, max: 1 });
  /** What is added to the clock of this process. */
  let added = 0;

  return {
    now: () => now() + added,
    claimRun: async (request, call) => {
      const begun = performance.now();
      const claimed = await threads.claimRun(request, call);
      if (claimed.now === undefined) return claimed;
      const received = now();
      const sent = received - Math.ceil(performance.now() - begun);
      added = toAdd(added, { least: claimed.now - received, most: claimed.now - sent });
      if (added !== 0 && isFirst(''))
        log.warn({ aheadMs: -added }, 'the clock of this process is not that of the threads service, which is used');
      return claimed;
    },
  };
}

/**
 * By how much the record's clock is ahead of that of this process, in milliseconds: at least and at most, because the reply does not say when during
 * the call it was made.
 */
interface Apart {
  readonly least: number;
  readonly most: number;
}

/** What is added to the clock from this reply on: nothing if that may be right, else what was added before, else as little as may be right. */
function toAdd(before: number, { least, most }: Apart): number {
  const mayBe = (ms: number): boolean => ms >= least - sameMs && ms <= most + sameMs;
  if (mayBe(0)) return 0;
  if (mayBe(before)) return before;
  return least > 0 ? least : most;
}
