import { shortDay } from './time-text.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * How far a time is from `now`, both in milliseconds since 1970, in few letters: `now`, `4 min`, `2 h`, `3 d`, from a week on the day,
 * and `in 4 min` for a time to come.
 */
export function relativeTime(at: number, now: number): string {
  if (!Number.isFinite(at)) return '';
  const apart = Math.abs(now - at);
  if (apart >= 7 * day) return shortDay(at, now);
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
