import type { RunCounts, RunsByStatus } from '@agent-workflow/client';

/** A day of the chart. */
export interface DayBar {
  /** As `2026-11-28`. */
  readonly day: string;
  readonly total: number;
  readonly failed: number;
  /** Parts of the bar from the ground up, in percent of the height of the chart. */
  readonly parts: readonly { readonly tone: Tone; readonly from: number; readonly size: number }[];
}

/** How a part of a bar looks. */
type Tone = 'failed' | 'waiting' | 'running' | 'done';

/** From the ground up: what matters stands on the ground, where the bars are compared. */
const tones: readonly { readonly tone: Tone; readonly statuses: readonly (keyof RunsByStatus)[] }[] = [
  { tone: 'failed', statuses: ['failed'] },
  { tone: 'waiting', statuses: ['interrupted'] },
  { tone: 'running', statuses: ['queued', 'running', 'sleeping'] },
  { tone: 'done', statuses: ['completed', 'stopped'] },
];

/** More days than this are not drawn: the newest are. */
const maxBars = 92;

/** The least height of a part that has a run, in percent: one failure among thousands is seen. */
const leastPart = 3;

/** The bars of all days from `from` to `to`, both as `2026-11-28`, those without runs too. */
export function dayBars(counts: Pick<RunCounts, 'days'>, from: string, to: string): readonly DayBar[] {
  const known = new Map(counts.days.map((day) => [day.day, day]));
  const days = daysBetween(from, to);
  const highest = Math.max(1, ...days.map((day) => known.get(day)?.total ?? 0));
  return days.map((day) => {
    const { total = 0, counts: numbers = {} } = known.get(day) ?? {};
    return { day, total, failed: numbers.failed ?? 0, parts: partsOf(numbers, highest) };
  });
}

function partsOf(numbers: RunsByStatus, highest: number): DayBar['parts'] {
  let from = 0;
  return tones.flatMap(({ tone, statuses }) => {
    const number = statuses.reduce((sum, status) => sum + (numbers[status] ?? 0), 0);
    if (number === 0) return [];
    const size = Math.min(100 - from, Math.max(leastPart, (number / highest) * 100));
    from += size;
    return [{ tone, from: from - size, size }];
  });
}

/** The days between two, both included; the newest of them where they are many. */
function daysBetween(from: string, to: string): readonly string[] {
  const days: string[] = [];
  const first = Date.parse(from);
  for (let at = Date.parse(to); at >= first && days.length < maxBars; at -= 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days.reverse();
}
