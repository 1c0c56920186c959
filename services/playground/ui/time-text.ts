/**
 * How times are written: in the page's English, with the order of day and month and the clock that the reader's region has. All of the page's
 * formats are here. Times are in milliseconds since 1970; what is no time is an empty text. Formats are made when they are wanted: the first
 * one takes a browser 10 ms and more, which would stand before the first paint.
 */
function localeOfReader(): string {
  const { region } = new Intl.Locale(new Intl.DateTimeFormat().resolvedOptions().locale).maximize();
  return region === undefined ? 'en' : `en-${region}`;
}

function format(options: Intl.DateTimeFormatOptions): (at: number) => string {
  let made: Intl.DateTimeFormat | undefined;
  return (at) => (Number.isFinite(at) ? (made ??= new Intl.DateTimeFormat(localeOfReader(), options)).format(at) : '');
}

/** With the year where it is not that of `now`. */
function inYear(options: Intl.DateTimeFormatOptions, { weekday: _, ...further } = options) {
  const [same, other] = [format(options), format({ ...further, year: 'numeric' })];
  return (at: number, now: number): string =>
    (new Date(at).getFullYear() === new Date(now).getFullYear() ? same : other)(at);
}

const toMinute = { hour: 'numeric', minute: '2-digit' } as const;
const toSecond = { ...toMinute, second: '2-digit' } as const;
const dayAndMonth = { day: 'numeric', month: 'short' } as const;

/** The clock, to the minute. */
export const clockMinute = format(toMinute);

/** The clock, to the second. */
export const clockTime = format(toSecond);

/** `27 Nov` or `Nov 27`. */
export const shortDay = inYear(dayAndMonth);

/** `Friday 27 November` or `Friday, November 27`. */
export const longDay = inYear({ weekday: 'long', day: 'numeric', month: 'long' });

/** `27 November` of a day as `2026-11-27`, wherever the reader is. */
export const calendarDay = format({ day: 'numeric', month: 'long', timeZone: 'UTC' });

const dayAndTime = inYear({ ...dayAndMonth, ...toSecond });
const dayAndMinute = inYear({ ...dayAndMonth, ...toMinute });

const dayKey = (at: number): string => new Date(at).toDateString();

/** Clock and day, the day where it is not that of `now`: to the second, and to the minute. */
export const dayTime = (at: number, now: number): string =>
  dayKey(at) === dayKey(now) ? clockTime(at) : dayAndTime(at, now);
export const dayMinute = (at: number, now: number): string =>
  dayKey(at) === dayKey(now) ? clockMinute(at) : dayAndMinute(at, now);

/** Day, month and clock to the second, with the year where it is another one, of a text as replies have it. */
export function timeText(at: string): string {
  return dayAndTime(Date.parse(at), Date.now()) || at;
}

/** Day and time to the minute with the day of the week, short enough for a row. */
export const momentText = format({ weekday: 'short', ...dayAndMonth, ...toMinute });

/** All of day and time, to the second. */
export const exactTime = format({ dateStyle: 'full', timeStyle: 'medium' });
