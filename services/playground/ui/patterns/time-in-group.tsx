import { dayOf } from '../day-groups.ts';
import { clockMinute, exactTime } from '../time-text.ts';
import { RelativeTime } from './relative-time.tsx';

/** A time below the heading of its day, in milliseconds since 1970: how long ago it was today, the clock of any other day. */
export function TimeInGroup({ at, now }: { readonly at: number; readonly now: number }) {
  if (!Number.isFinite(at)) return null;
  if (dayOf(at) === dayOf(now)) return <RelativeTime at={at} />;
  return (
    <time class="time" dateTime={new Date(at).toISOString()} data-exact={exactTime(at)}>
      {clockMinute(at)}
    </time>
  );
}
