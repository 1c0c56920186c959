import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { growingSilence } from '@agent-workflow/runtime/retries';

interface RecordClockOptions {
  /** The clock of this process, in milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
}

/** The clock of the record, as far as this process knows it. */
export interface RecordClock {
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Makes a call to the record, and reads its clock in the reply. */
  readonly read: <T extends { readonly now?: number }>(call: () => Promise<T>) => Promise<T>;
}

/** Clocks that differ by no more than this count as the same, in milliseconds. */
const sameMs = 1000;

/**
 * The clock by which runs sleep and commits are dated, whatever the clock of this process shows. Until the first reading
 * it is the clock of this process.
 */
export function createRecordClock({ now, log }: RecordClockOptions): RecordClock {
  const isFirst = createFirstOfKind({ ...growingSilence, max: 1 });
  /** What is added to the clock of this process. */
  let added = 0;

  return {
    now: () => now() + added,
    read: async (call) => {
      const begun = performance.now();
      const reply = await call();
      if (reply.now === undefined) return reply;
      const received = now();
      const sent = received - Math.ceil(performance.now() - begun);
      added = toAdd(added, { least: reply.now - received, most: reply.now - sent });
      if (added !== 0 && isFirst(''))
        log.warn({ aheadMs: -added }, 'the clock of this process is not that of the threads service, which is used');
      return reply;
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
