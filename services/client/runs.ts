import { keeping, withStatuses, type AgentOptions, type StopOptions } from './options.ts';
import { request, type Connection, type RequestOptions } from './request.ts';
import { follow, type FollowOptions, type RunEvents } from './run-events.ts';
import type { Paged } from './shapes/lists.ts';
import type { RunResult } from './shapes/results.ts';
import type { RunTrace } from './shapes/traces.ts';
import type {
  BatchRun,
  NewRun,
  PastStep,
  Run,
  RunCounts,
  RunCountsQuery,
  RunsQuery,
  Step,
  StoppedRun,
} from './shapes/runs.ts';

export function runsOf(connection: Connection) {
  const at = (runId: string, rest = '') => ({ path: `/v1/runs/{runId}${rest}`, ids: { runId } });
  return {
    /** Accepts a run, which goes on by itself, or starts at its time. */
    start: (body: NewRun, options: RequestOptions = {}): Promise<Run> =>
      request(connection, { method: 'POST', path: '/v1/runs', body, ...options }),
    /** Accepts up to 100 runs of one agent, each as `start` does. A run that is refused says why in its place. */
    startAll: (
      runs: readonly NewRun[],
      { agent, ...options }: AgentOptions = {},
    ): Promise<{ readonly runs: readonly BatchRun[] }> =>
      request(connection, {
        method: 'POST',
        path: '/v1/runs/batch',
        body: { runs, ...(agent !== undefined && { config: { agent } }) },
        ...options,
      }),
    get: (runId: string, options: RequestOptions = {}): Promise<Run> =>
      request(connection, { method: 'GET', ...at(runId), ...options }),
    /** The runs of all threads that pass every filter given, newest first. A page may have fewer runs than `limit`, or none, and still a `cursor`: go on with it. */
    list: (query: RunsQuery = {}, options: RequestOptions = {}): Promise<Paged & { readonly runs: readonly Run[] }> =>
      request(connection, {
        method: 'GET',
        path: '/v1/runs',
        query: withStatuses(query),
        ...options,
      }),
    /** How many there are by day and status, of the newest 10,000. */
    counts: (query: RunCountsQuery = {}, options: RequestOptions = {}): Promise<RunCounts> =>
      request(connection, { method: 'GET', path: '/v1/runs/counts', query: withStatuses(query), ...options }),
    /** The result, once the run has ended. */
    wait: (runId: string, options: RequestOptions = {}): Promise<RunResult> =>
      request(connection, { method: 'GET', ...at(runId, '/wait'), ...options, head: 'late' }),
    /** What its steps changed, from the record: those after step `after`, or the first ones. */
    steps: (
      runId: string,
      query: { readonly limit?: number; readonly after?: number } = {},
      options: RequestOptions = {},
    ): Promise<{ readonly thread_id: string; readonly steps: readonly Step[]; readonly has_more: boolean }> =>
      request(connection, { method: 'GET', ...at(runId, '/steps'), query, ...options }),
    /** One of its steps with the state after it; 404 for one that is no longer kept. */
    step: (runId: string, step: number, options: RequestOptions = {}): Promise<PastStep> =>
      request(connection, {
        method: 'GET',
        path: '/v1/runs/{runId}/steps/{step}',
        ids: { runId, step: String(step) },
        ...options,
      }),
    /** What went on within its steps, from the record: those after step `after`, or the first ones. Go on with `next_after` while `has_more`. */
    trace: (
      runId: string,
      query: { readonly limit?: number; readonly after?: number } = {},
      options: RequestOptions = {},
    ): Promise<RunTrace> => request(connection, { method: 'GET', ...at(runId, '/trace'), query, ...options }),
    /** The run and those that answer it, in order. With `has_more` the chain of the last one goes on. */
    chain: (
      runId: string,
      query: { readonly limit?: number } = {},
      options: RequestOptions = {},
    ): Promise<{ readonly runs: readonly Run[]; readonly has_more: boolean }> =>
      request(connection, { method: 'GET', ...at(runId, '/chain'), query, ...options }),
    /** Its events after the one of this id, whether it runs or has ended. */
    follow: (runId: string, options: FollowOptions = {}): RunEvents => follow(connection, runId, options),
    cancel: (runId: string, { keepPartial, ...options }: StopOptions = {}): Promise<StoppedRun> =>
      request(connection, { method: 'POST', ...at(runId, '/cancel'), body: keeping(keepPartial), ...options }),
    /** Makes a run that begins with the step in which this one failed. */
    retry: (runId: string, options: RequestOptions = {}): Promise<Run> =>
      request(connection, { method: 'POST', ...at(runId, '/retry'), ...options }),
  };
}
