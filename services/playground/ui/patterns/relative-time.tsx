import { tickedNow } from '../../session/minute.ts';
import { serviceNow } from '../../session/clock.ts';
import { relativeTime, timeAgo } from '../relative-time.ts';
import { exactTime } from '../time-text.ts';

interface RelativeTimeProps {
  /** ISO 8601, or milliseconds since 1970. Anything else is shown as nothing. */
  readonly at: string | number | null | undefined;
  /** Whether it is a part of a sentence: `4 min ago` in place of `4 min`. */
  readonly isInSentence?: boolean;
}

/** How long ago something was. The exact time shows on hover, and while the link or the row around it has the focus. */
export function RelativeTime({ at, isInSentence = false }: RelativeTimeProps) {
  const ms = typeof at === 'number' ? at : Date.parse(at ?? '');
  if (!Number.isFinite(ms)) return null;
  // What has just happened is never in the future of the last tick.
  const now = Math.max(tickedNow.value, serviceNow());
  return (
    <time class="time" dateTime={new Date(ms).toISOString()} data-exact={exactTime(ms)}>
      {isInSentence ? timeAgo(ms, now) : relativeTime(ms, now)}
    </time>
  );
}
