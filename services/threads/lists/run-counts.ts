import { invalid } from '@agent-workflow/kit/errors';
import type { RunStatus } from '@agent-workflow/protos/lists';
import type { CountRunsReply } from '@agent-workflow/protos/threads';
import type { RunRow } from '../ports/lists.ts';
import { durationOf } from '../record/run-place.ts';

interface RunCounts {
  /** Counts a run; one whose time is none is left out. */
  readonly add: (run: RunRow, now: number) => void;
  readonly read: () => Omit<CountRunsReply, 'atLeast'>;
}

/** Counts runs by the day of their acceptance in a time zone, and by status. @throws Invalid for an unknown time zone. */
export function createRunCounts(timeZone: string): RunCounts {
  const dayOf = createDays(timeZone);
  const days = new Map<string, Map<RunStatus, number>>();
  const durations: number[] = [];
  return {
    add: (run, now) => {
      const day = dayOf(run.createdAt);
      if (day === undefined) return;
      const statuses = days.get(day) ?? new Map<RunStatus, number>();
      days.set(day, statuses.set(run.status, (statuses.get(run.status) ?? 0) + 1));
      if (run.end) durations.push(durationOf(run, now));
    },

    read: () => {
      const ordered = durations.toSorted((a, b) => a - b);
      const [medianMs, p95Ms] = [0.5, 0.95].map((share) => ordered[Math.ceil(share * ordered.length) - 1]);
      return {
        days: [...days]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([day, statuses]) => ({
            day,
            counts: [...statuses].map(([status, count]) => ({ status, count })),
          })),
        ...(medianMs !== undefined && p95Ms !== undefined && { medianMs, p95Ms }),
      };
    },
  };
}

/** Clocks of every zone are a multiple of this apart, in milliseconds, since 1972. */
const quarterMs = 15 * 60_000;

/** The day of a time in a zone, as `2026-11-28`; `undefined` for a time that is none. */
function createDays(timeZone: string): (at: number) => string | undefined {
  const format = formatOf(timeZone);
  const known = new Map<number, string>();
  return (at) => {
    const quarter = Math.floor(at / quarterMs);
    const day = known.get(quarter) ?? dayBy(format, at);
    if (day !== undefined) known.set(quarter, day);
    return day;
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...{ calendar: 'iso8601', numberingSystem: 'latn', timeZone },
      ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    });
  } catch {
    throw invalid(['timeZone'], 'must be the name of a time zone, as Europe/Berlin');
  }
}

function dayBy(format: Intl.DateTimeFormat, at: number): string | undefined {
  if (Number.isNaN(new Date(at).getTime())) return undefined;
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${(parts.get('year') ?? '').padStart(4, '0')}-${parts.get('month') ?? ''}-${parts.get('day') ?? ''}`;
}
