import { readTime } from '@agent-workflow/protos/message';
import type { CountRunsRequest, RunDay } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import { invalidAt } from '../../../http/fields.ts';
import { zoneOf } from '../../../schedules/zone.ts';
import * as examples from '../examples/runs.ts';
import { maxLimit } from '../schemas/common.ts';
import { OwnRunList, OwnRunsQuery, RunCounts, RunCountsQuery } from '../schemas/runs.ts';
import { endpoint } from './common/endpoint.ts';
import { toRunItems } from './common/shown-items.ts';

type Filters = Omit<Static<typeof RunCountsQuery>, 'timezone'>;

export function selectionOf(input: Filters): Pick<CountRunsRequest, 'statuses' | 'agent' | 'filter'> {
  const { status: statuses = [], agent, revision, node, error, search } = input;
  const { min_duration_ms: minDurationMs, max_duration_ms: maxDurationMs } = input;
  const from = timeAt(input, 'from');
  const to = timeAt(input, 'to');
  const filter = {
    ...(revision !== undefined && { revision }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(node !== undefined && { node }),
    ...(error !== undefined && { error }),
    ...(search !== undefined && { search }),
    ...(minDurationMs !== undefined && { minDurationMs }),
    ...(maxDurationMs !== undefined && { maxDurationMs }),
  };
  return { statuses, ...(agent !== undefined && { agent }), filter };
}

/** A time of the query in milliseconds: times of runs have no smaller part. What stands in the body elsewhere stands in the query of a GET. */
function timeAt(input: Filters, name: 'from' | 'to'): number | undefined {
  const at = readTime(input[name], ['body', name]);
  return at === undefined ? undefined : Math.ceil(at);
}

/** The runs of the owner, whatever their threads, newest first. */
export const listOwnRuns = endpoint({
  name: 'listOwnRuns',
  tag: 'runs',
  summary: 'List the runs of all threads, newest first',
  description:
    'The runs of the owner that pass every filter given, newest first by the time of their acceptance, in pages. A page reads at most 2,000 runs. Where few of those match, it holds fewer than `limit`, or none, with `has_more: true`: continue with `cursor` until `has_more` is `false`.',
  example: examples.listOwnRuns,
  method: 'GET',
  path: '/v1/runs',
  access: { resource: 'checkpointer', action: 'read' },
  input: OwnRunsQuery,
  reply: OwnRunList,
  handle: async ({ owner, input, call }, { threads, log }) => {
    const { limit, cursor: after } = input;
    const page = { limit: Math.min(limit, maxLimit), ...(after !== undefined && { cursor: after }) };
    const request = { owner, ...selectionOf(input), ...page };
    const { runs, cursor } = await threads.listOwnRuns(request, call());
    return JSON.stringify({ runs: toRunItems(runs, log), has_more: cursor !== undefined, cursor });
  },
});

type Counts = Readonly<Record<string, number>>;

const countsOf = (days: readonly RunDay[]): Counts => {
  const counts: Record<string, number> = {};
  for (const day of days) for (const { status, count } of day.counts) counts[status] = (counts[status] ?? 0) + count;
  return counts;
};

const totalOf = (counts: Counts): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

const shownDay = (day: RunDay): object => {
  const counts = countsOf([day]);
  return { day: day.day, total: totalOf(counts), counts };
};

/** How many runs of the owner there are, by day and status. */
export const countRuns = endpoint({
  name: 'countRuns',
  tag: 'runs',
  summary: 'Count runs by day and status',
  description:
    "How many of the owner's newest 10,000 runs pass every filter given, by the day of their acceptance and by status, and how long they took. With `from` no more is read than was accepted since.",
  example: examples.countRuns,
  method: 'GET',
  path: '/v1/runs/counts',
  access: { resource: 'checkpointer', action: 'read' },
  input: RunCountsQuery,
  reply: RunCounts,
  handle: async ({ owner, input, call }, { threads }) => {
    const { timezone } = input;
    if (!zoneOf(timezone)) throw invalidAt(['query', 'timezone'], 'must be the name of a time zone, as Europe/Berlin');
    const request = { owner, ...selectionOf(input), timeZone: timezone };
    const { days, medianMs, p95Ms, atLeast } = await threads.countRuns(request, call());
    const counts = countsOf(days);
    return JSON.stringify({
      total: totalOf(counts),
      counts,
      days: days.map(shownDay),
      timezone,
      ...(medianMs !== undefined && { duration_ms: { median: medianMs, p95: p95Ms } }),
      ...(atLeast && { at_least: true }),
    });
  },
});
