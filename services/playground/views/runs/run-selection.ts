import type { RunFilter, RunStatus } from '@agent-workflow/client';
import type { SavedFilter } from '../../session/saved-filters.ts';
import { duration } from '../../ui/format.ts';

/** The parameters of the address, each a text. */
type Query = Readonly<Record<string, string>>;

/** The words of the address that choose statuses. A status may also stand by its own name. */
export const statusChoices: readonly {
  readonly word: string;
  readonly text: string;
  readonly statuses: readonly RunStatus[];
}[] = [
  { word: 'failed', text: 'Failed', statuses: ['failed'] },
  { word: 'interrupted', text: 'Waiting', statuses: ['interrupted'] },
  { word: 'under-way', text: 'Under way', statuses: ['queued', 'running', 'sleeping'] },
  { word: 'completed', text: 'Completed', statuses: ['completed'] },
  { word: 'stopped', text: 'Stopped', statuses: ['stopped'] },
];

const single: readonly RunStatus[] = ['queued', 'running', 'sleeping'];

/** The statuses that a word of the address chooses: all where it is empty, `undefined` where it names none that there is. */
export function statusesOf(word: string): readonly RunStatus[] | undefined {
  if (word === '') return [];
  const known = single.find((status) => status === word);
  return known ? [known] : statusChoices.find((choice) => choice.word === word)?.statuses;
}

/** The ranges that the page offers, by the number of days that end today. */
export const rangeChoices: readonly { readonly word: string; readonly text: string }[] = [
  { word: '1', text: 'Today' },
  { word: '2', text: 'Since yesterday' },
  { word: '7', text: 'Last 7 days' },
  { word: '14', text: 'Last 14 days' },
  { word: '30', text: 'Last 30 days' },
  { word: '90', text: 'Last 90 days' },
];

/** Days that the chart shows where the address names no range. */
const chartedDays = 14;

/** The names by which the address selects runs, beside the time range. */
const textNames = ['search', 'agent', 'revision', 'node', 'error'] as const;

/** What the service is asked for. @param now the reader's time in milliseconds since 1970 */
export function runFilterOf(query: Query, now: number): RunFilter {
  const status = statusesOf(query['status'] ?? '') ?? [];
  const texts = textNames.flatMap((name) => (query[name] ? [[name, query[name]] as const] : []));
  const { from, to } = rangeOf(query, now);
  const [min, max] = [msOf(query['min']), msOf(query['max'])];
  return {
    ...Object.fromEntries(texts),
    ...(status.length > 0 && { status }),
    ...(from !== undefined && { from: new Date(from).toISOString() }),
    ...(to !== undefined && { to: new Date(to).toISOString() }),
    ...(min !== undefined && { min_duration_ms: min }),
    ...(max !== undefined && { max_duration_ms: max }),
  };
}

/** The same for the chart, which always has a beginning. */
export function chartFilterOf(query: Query, now: number): RunFilter {
  const filter = runFilterOf(query, now);
  return filter.from === undefined
    ? { ...filter, from: new Date(dayBefore(now, chartedDays - 1)).toISOString() }
    : filter;
}

interface Range {
  /** Milliseconds since 1970. */
  readonly from?: number;
  /** The end, which is no part of it. */
  readonly to?: number;
}

/** The time range that the address names: `days=7`, or `from` and `to` as `2026-11-27`, both days included. */
export function rangeOf(query: Query, now: number): Range {
  const days = Number(query['days']);
  if (Number.isInteger(days) && days >= 1 && days <= 366) return { from: dayBefore(now, days - 1) };
  const from = startOfDay(query['from']);
  const to = startOfDay(query['to'], 1);
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** When the day began that was so many days before that of `now`, by the reader's clock. */
function dayBefore(now: number, days: number): number {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - days).getTime();
}

/** When a day of the address begins by the reader's clock, or the one that is `later` days after it. */
function startOfDay(day: string | undefined, later = 0): number | undefined {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day ?? '') ?? [];
  if (year === undefined) return undefined;
  const at = new Date(Number(year), Number(month) - 1, Number(date) + later).getTime();
  return Number.isFinite(at) && at >= 0 ? at : undefined;
}

/** Seconds of the address in milliseconds. */
function msOf(seconds: string | undefined): number | undefined {
  const ms = Math.round(Number(seconds) * 1000);
  return seconds && Number.isSafeInteger(ms) && ms >= 0 ? ms : undefined;
}

const secondsText = (seconds: string): string => duration(msOf(seconds) ?? 0);

/** The parameters that select runs, without those that are for something else. */
const selectionNames = ['status', 'days', 'from', 'to', 'min', 'max', ...textNames] as const;

/** The selection of an address alone. */
export const selectionOf = (query: Query): Query =>
  Object.fromEntries(selectionNames.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));

/** The filters that are not always in sight, as words that say what they select. */
export function furtherFilters(query: Query): readonly { readonly name: string; readonly text: string }[] {
  const { node, revision, error, min, max, from, to } = query;
  return [
    ...(node ? [{ name: 'node', text: `at ${node}` }] : []),
    ...(error ? [{ name: 'error', text: `error: ${error}` }] : []),
    ...(revision ? [{ name: 'revision', text: `revision ${revision}` }] : []),
    ...(min ? [{ name: 'min', text: `took ${secondsText(min)} or longer` }] : []),
    ...(max ? [{ name: 'max', text: `took ${secondsText(max)} at most` }] : []),
    ...(from ? [{ name: 'from', text: `from ${from}` }] : []),
    ...(to ? [{ name: 'to', text: `up to ${to}` }] : []),
  ];
}

/** How long 95 of 100 runs of a selection took at most, in milliseconds. */
export interface SlowBound {
  readonly query: Query;
  readonly p95Ms: number;
}

/** The selection in which runs are slow or not: the same without bounds of how long they took. */
export const anyDuration = ({ min: _min, max: _max, ...query }: Query): Query => query;

/** The saved filters that every reader has. `slow` is known where runs of the selection have ended. */
export const givenFilters = (slow: SlowBound | undefined): readonly SavedFilter[] => [
  { name: 'All', query: {} },
  { name: 'Failed, 7 days', query: { status: 'failed', days: '7' } },
  { name: 'Waiting', query: { status: 'interrupted' } },
  ...(slow
    ? [
        {
          name: `Slower than 95 % (${duration(slow.p95Ms)})`,
          query: { ...slow.query, min: String(slow.p95Ms / 1000) },
        },
      ]
    : []),
  { name: 'Under way', query: { status: 'under-way' } },
];
