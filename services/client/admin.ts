import { isPage, toForeign } from './errors.ts';
import { keeping, withStatuses } from './options.ts';
import { readFile, request, send, type Connection, type RequestOptions } from './request.ts';
import type {
  AllQuestions,
  AllQuestionsQuery,
  AllRuns,
  AllRunsQuery,
  AllThreads,
  AllThreadsQuery,
  AuditLine,
  AuditQuery,
  ForReason,
  OfOwner,
  OwnedRun,
  Showing,
  StepsPage,
} from './shapes/admin.ts';
import type { Page, Paged } from './shapes/lists.ts';
import type { Message, MessagesQuery } from './shapes/messages.ts';
import type { Run, Step, StoppedRun } from './shapes/runs.ts';
import type { Thread, ThreadState } from './shapes/threads.ts';
import type { RunTrace } from './shapes/traces.ts';

/** What operators see of everybody, and do. 403 for a caller without the role. */
export function adminOf(connection: Connection) {
  const ofRun = (runId: string, rest = '') => ({ path: `/v1/admin/runs/{runId}${rest}`, ids: { runId } });
  const ofThread = (threadId: string, rest = '') => ({
    path: `/v1/admin/threads/{threadId}${rest}`,
    ids: { threadId },
  });
  return {
    /** Those of the newest 10,000 runs that pass every filter, newest first. A page may have fewer than `limit`, or none, and still a `cursor`: go on with it. */
    listRuns: (query: AllRunsQuery = {}, options: RequestOptions = {}): Promise<AllRuns> =>
      request(connection, { method: 'GET', path: '/v1/admin/runs', query: withStatuses(query), ...options }),
    getRun: (runId: string, query: OfOwner & Showing = {}, options: RequestOptions = {}): Promise<OwnedRun> =>
      request(connection, { method: 'GET', ...ofRun(runId), query, ...options }),
    getTrace: (
      runId: string,
      query: OfOwner & StepsPage = {},
      options: RequestOptions = {},
    ): Promise<RunTrace<string | null>> =>
      request(connection, { method: 'GET', ...ofRun(runId, '/trace'), query, ...options }),
    /** With contents. */
    listSteps: (
      runId: string,
      query: ForReason & StepsPage,
      options: RequestOptions = {},
    ): Promise<{ readonly thread_id: string; readonly steps: readonly Step[]; readonly has_more: boolean }> =>
      request(connection, { method: 'GET', ...ofRun(runId, '/steps'), query, ...options }),
    cancelRun: (
      runId: string,
      { keepPartial, ...about }: ForReason & { readonly keepPartial?: boolean },
      options: RequestOptions = {},
    ): Promise<StoppedRun> => {
      const body = { ...about, ...keeping(keepPartial) };
      return request(connection, { method: 'POST', ...ofRun(runId, '/cancel'), body, ...options });
    },
    /** Makes a run of its owner that begins with the step in which this one failed. */
    retryRun: (runId: string, about: ForReason, options: RequestOptions = {}): Promise<Run> =>
      request(connection, { method: 'POST', ...ofRun(runId, '/retry'), body: about, ...options }),
    /** Threads by their newest run, of the newest 10,000 runs. */
    listThreads: (query: AllThreadsQuery = {}, options: RequestOptions = {}): Promise<AllThreads> =>
      request(connection, { method: 'GET', path: '/v1/admin/threads', query: withStatuses(query), ...options }),
    getThread: (threadId: string, query: OfOwner & Showing = {}, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, { method: 'GET', ...ofThread(threadId), query, ...options }),
    listRunsOfThread: (
      threadId: string,
      query: OfOwner & Pick<Page, 'limit' | 'cursor'> = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly runs: readonly OwnedRun[] }> =>
      request(connection, { method: 'GET', ...ofThread(threadId, '/runs'), query, ...options }),
    /** With contents. */
    getState: (threadId: string, query: ForReason, options: RequestOptions = {}): Promise<ThreadState> =>
      request(connection, { method: 'GET', ...ofThread(threadId, '/state'), query, ...options }),
    /** With contents. */
    listMessages: (
      threadId: string,
      query: ForReason & MessagesQuery,
      options: RequestOptions = {},
    ): Promise<Paged & { readonly messages: readonly Message[] }> =>
      request(connection, { method: 'GET', ...ofThread(threadId, '/messages'), query, ...options }),
    /** What waits for an answer or for results of tools, of the newest 10,000 runs. */
    listQuestions: (query: AllQuestionsQuery = {}, options: RequestOptions = {}): Promise<AllQuestions> =>
      request(connection, { method: 'GET', path: '/v1/admin/questions', query, ...options }),
    /** Who read or did what with things of others, the newest first. For admins. */
    exportAudit: (query: AuditQuery = {}, options: RequestOptions = {}): Promise<readonly AuditLine[]> =>
      send(connection, { method: 'GET', path: '/v1/admin/audit', query, ...options }, async (response) => {
        if (isPage(response)) throw toForeign(response, 'it is a page');
        const text = await (await readFile(response, { ...options, connection })).text();
        return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditLine]));
      }),
  };
}
