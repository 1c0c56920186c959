import { minuteMs } from './schedule-ground.ts';

// What the clocks of a zone show, minute by minute, from the database that the runtime has: it shares no code with what computes slots.

/** A moment, and the wall time that is shown then: the day, and the minutes since midnight. */
interface Shown {
  readonly at: number;
  readonly day: string;
  readonly minutes: number;
}

/** The minutes of [from, to] as a zone shows them. */
export function shownIn(timeZone: string, from: number, to: number): readonly Shown[] {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  const shown: Shown[] = [];
  for (let at = Math.ceil(from / minuteMs) * minuteMs; at <= to; at += minuteMs) {
    const [day = '', clock = ''] = format.format(at).split(', ');
    const [hour = 0, minute = 0] = clock.split(':').map(Number);
    shown.push({ at, day, minutes: hour * 60 + minute });
  }
  return shown;
}

/** The moments of a year at which a zone sets its clocks, to the minute. */
export function changesOf(timeZone: string, year: number): readonly number[] {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'longOffset' });
  const offset = (at: number): string | undefined =>
    format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value;
  const changes: number[] = [];
  const end = Date.UTC(year + 1, 0);
  for (let hour = Date.UTC(year, 0); hour < end; hour += 60 * minuteMs)
    if (offset(hour) !== offset(hour + 60 * minuteMs))
      for (let at = hour + minuteMs; at <= hour + 60 * minuteMs; at += minuteMs)
        if (offset(at - minuteMs) !== offset(at)) changes.push(at);
  return changes;
}

/** Minutes and hours of the day at which something is due; hours absent: of every hour. */
export interface DailyTimes {
  readonly minutes: readonly number[];
  readonly hours?: readonly number[] | undefined;
}

export const cronOf = ({ minutes, hours }: DailyTimes): string =>
  `${minutes.join(',')} ${hours?.join(',') ?? '*'} * * *`;

/** When something is due, as the guide says it: in a gap at the first moment after it, in an hour that is shown twice at the first. */
export function dueIn(shown: readonly Shown[], { minutes, hours }: DailyTimes): readonly number[] {
  if (!hours) return shown.filter((one) => minutes.includes(one.minutes % 60)).map(({ at }) => at);
  const due = new Set<number>();
  for (const [, ofDay = []] of Map.groupBy(shown, ({ day }) => day)) {
    for (const wanted of hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute))) {
      const first = ofDay.find((one) => one.minutes === wanted) ?? ofDay.find((one) => one.minutes > wanted);
      if (first) due.add(first.at);
    }
  }
  return [...due].toSorted((a, b) => a - b);
}
