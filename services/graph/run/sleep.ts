import type { InterruptScope } from './interrupt.ts';

/** The calls of a context by which a node or tool sleeps. */
interface SleepCalls {
  readonly sleep: (ms: number) => Promise<void>;
  readonly waitUntil: (date: Date) => Promise<void>;
}

/** The longest sleep, in milliseconds: ten years, as in Temporal. */
const longestMs = 10 * 365.25 * 24 * 3600 * 1000;

export const sleepCalls = ({ sleep }: Pick<InterruptScope, 'sleep'>): SleepCalls => ({
  sleep: (ms) => sleep((start) => start + checkedMs(ms, 'sleep()', 'milliseconds')),
  waitUntil: (date) =>
    sleep((start) => {
      const time = isDate(date) ? date.getTime() : NaN;
      // A time that has passed is reached at once, however long ago it was.
      return start + checkedMs(time < start ? 0 : time - start, 'waitUntil()', 'a Date');
    }),
});

/** Also one that was made in another context of Node, as test runners make them. */
const isDate = (value: unknown): value is Date => Object.prototype.toString.call(value) === '[object Date]';

function checkedMs(ms: unknown, who: string, what: string): number {
  if (typeof ms === 'number' && ms >= 0 && ms <= longestMs) return Math.ceil(ms);
  throw new RangeError(`${who} takes ${what}, at most ten years ahead`);
}
