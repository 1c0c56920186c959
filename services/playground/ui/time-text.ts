const parts: Intl.DateTimeFormatOptions = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
};
const thisYear = new Intl.DateTimeFormat(undefined, parts);
const anyYear = new Intl.DateTimeFormat(undefined, { ...parts, year: 'numeric' });

/** `Feb 5, 12:00:00`, with the year where it is another one. A text that is no time stays as it is. */
export function timeText(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return (date.getFullYear() === new Date().getFullYear() ? thisYear : anyYear).format(date);
}
