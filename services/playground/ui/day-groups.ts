import { longDay } from './time-text.ts';

/** An entry of a list that is parted by days: a heading, or an item. */
type DayEntry<T> =
  | { readonly kind: 'day'; readonly key: string; readonly at: number; readonly items: readonly T[] }
  | { readonly kind: 'item'; readonly key: string; readonly item: T };

/** The day of a time by the reader's clock, as `2026-11-28`; empty for a time that is none. */
export function dayOf(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${String(date.getFullYear())}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Items that are ordered by time, each day below a heading. */
export function groupByDay<T>(
  items: readonly T[],
  { keyOf, timeOf }: { readonly keyOf: (item: T) => string; readonly timeOf: (item: T) => number },
): readonly DayEntry<T>[] {
  const entries: DayEntry<T>[] = [];
  for (let from = 0; from < items.length;) {
    const at = timeOf(items[from] as T);
    const day = dayOf(at);
    let to = from + 1;
    while (to < items.length && dayOf(timeOf(items[to] as T)) === day) to++;
    const some = items.slice(from, to);
    entries.push({ kind: 'day', key: `day ${day} ${String(from)}`, at, items: some });
    for (const item of some) entries.push({ kind: 'item', key: keyOf(item), item });
    from = to;
  }
  return entries;
}

/** What a day is called: `Today`, `Yesterday`, `Friday 27 November`, with the year where it is another one. Both in milliseconds since 1970. */
export function dayName(at: number, now: number): string {
  const day = dayOf(at);
  if (day === '') return 'Unknown day';
  const today = new Date(now);
  if (day === dayOf(now)) return 'Today';
  if (day === dayOf(new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1).getTime())) return 'Yesterday';
  return longDay(at, now);
}
