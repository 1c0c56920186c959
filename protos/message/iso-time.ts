/** ISO 8601: a date, or a date and a time, with or without an offset from UTC. */
const iso = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)(\.\d{1,9})?)?(?:Z|([+-])(\d\d):?(\d\d))?)?$/i;

/**
 * The milliseconds since 1970 of an ISO 8601 text, NaN for any other and for a time that no calendar or clock shows, as 30 February, 24:00, a leap
 * second and an offset of a day. A text without an offset is read as UTC.
 */
export function readIsoTime(text: string): number {
  const [, date = '', minutes = '00:00', seconds = ':00', fraction = '', sign, hour, minute] = iso.exec(text) ?? [];
  const clock = `${date}T${minutes}${seconds}`;
  const local = Date.parse(`${clock}${fraction}Z`);
  // `Date.parse` takes 30 February for 2 March.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(clock)) return NaN;
  if (sign === undefined) return local;
  const [hours, rest] = [Number(hour), Number(minute)];
  if (hours > 23 || rest > 59) return NaN;
  return local - (sign === '-' ? -1 : 1) * (hours * 60 + rest) * 60_000;
}
