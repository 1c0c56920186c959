const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const near = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const far = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

/**
 * How far a time is from `now`, both in milliseconds since 1970, in few letters: `now`, `4 min`, `2 h`, `3 d`, from a week on the day,
 * and `in 4 min` for a time to come.
 */
export function relativeTime(at: number, now: number): string {
  if (!Number.isFinite(at)) return '';
  const apart = Math.abs(now - at);
  if (apart >= 7 * day) return (new Date(at).getFullYear() === new Date(now).getFullYear() ? near : far).format(at);
  const text = spanText(apart);
  return text === 'now' || at <= now ? text : `in ${text}`;
}

/** The same as a part of a sentence: `just now`, `4 min ago`, `in 2 h`, `on 27 Nov`. */
export function timeAgo(at: number, now: number): string {
  const text = relativeTime(at, now);
  if (text === 'now') return 'just now';
  if (Math.abs(now - at) >= 7 * day) return `on ${text}`;
  return at > now || text === '' ? text : `${text} ago`;
}

/** A span of milliseconds in its largest unit: `now` below half a minute, `4 min`, `2 h`, `3 d`. */
function spanText(ms: number): string {
  if (ms < minute / 2) return 'now';
  if (ms < hour - minute / 2) return `${String(Math.max(1, Math.round(ms / minute)))} min`;
  if (ms < day - hour / 2) return `${String(Math.round(ms / hour))} h`;
  return `${String(Math.round(ms / day))} d`;
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });

/** Day and time to the second, as the reader's clock has it, of milliseconds since 1970. */
export const exactTime = (at: number): string => (Number.isFinite(at) ? exact.format(at) : '');

const moment = new Intl.DateTimeFormat(undefined, {
  ...({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const),
});

/** Day and time to the minute, short enough for a row, of milliseconds since 1970. */
export const momentText = (at: number): string => (Number.isFinite(at) ? moment.format(at) : '');
