import { eachOf } from '@agent-workflow/kit/each';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { readTime } from '@agent-workflow/protos/message';
import type { ListAllRunsReply, Run, Thread } from '@agent-workflow/protos/threads';
import { readLines, timeOf, type AuditLine, type StoredLine } from '../../../audit/audit.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonObject, jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import * as examples from '../examples/admin.ts';
import {
  AllQuestionsList,
  AllQuestionsQuery,
  AllRunsList,
  AllRunsQuery,
  AllThreadsList,
  AllThreadsQuery,
  AuditLines,
  AuditQuery,
  OneQuery,
  OwnedRun,
  RunsOfOthersQuery,
} from '../schemas/admin.ts';
import { maxLimit } from '../schemas/common.ts';
import { RunParams } from '../schemas/runs.ts';
import { ThreadItem, ThreadParams } from '../schemas/threads.ts';
import { endpoint } from './common/endpoint.ts';
import { audit, mustReadContents, ofOthers, ownerIn, shownOwner } from './common/others.ts';
import { withMaskedError } from './common/masked-error.ts';
import { nextPage } from './common/page.ts';
import { threadText, toRunItem } from './common/shown-items.ts';
import { selectionOf } from './found-runs.ts';
import { listMessages } from './messages.ts';
import { cancelRun, retryRun, streamRun } from './runs.ts';
import { getState } from './state.ts';
import { listRunSteps } from './steps.ts';
import { getMaskedTrace } from './trace.ts';

const read = { resource: 'admin', action: 'read' } as const;
const masked = (what: 'runs' | 'threads' | 'questions') => ({ what, contents: false });
const withContents = (what: 'runs' | 'threads') => ({ what, contents: true });

/** A run of somebody. The title of its thread, its question and the text of its error are contents. */
const ownedRun = (run: Run, isMasked: boolean): Record<string, unknown> => {
  const shown = { user_id: shownOwner(run.owner), ...toRunItem(run) };
  return isMasked ? { ...withMaskedError(shown), thread_title: null, question: undefined } : shown;
};

/** A thread of somebody as JSON text. Its names and its metadata are contents. */
const ownedThread = (owner: string, thread: Thread, isMasked: boolean): string => {
  if (!isMasked) return threadText(owner)(thread);
  const { threadName: _name, title: _title, metadataJson: _metadata, ...rest } = thread;
  return threadText(owner)(rest);
};

interface Page {
  readonly limit: number;
  readonly cursor?: string;
}

const pageOf = ({ limit, cursor }: Page) => ({
  limit: Math.min(limit, maxLimit),
  ...(cursor !== undefined && { cursor }),
});

/** How a page of a list of everybody's ends. */
const endOf = ({ cursor, atLeast }: Pick<ListAllRunsReply, 'cursor' | 'atLeast'>): Record<string, string> => ({
  ...nextPage(cursor),
  ...(atLeast && { at_least: 'true' }),
});

interface Only {
  readonly user_id?: string;
  readonly agent?: string;
}

const onlyOf = ({ user_id: userId, agent }: Only) => ({
  ...(userId !== undefined && { owner: ownerIn({ user_id: userId }) }),
  ...(agent !== undefined && { agent }),
});

export const listAllRuns = endpoint({
  name: 'listAllRuns',
  tag: 'admin',
  summary: 'List the runs of all owners, newest first',
  description:
    'Those of the newest 10,000 runs of everybody that pass every filter given, newest first, without titles, questions and texts of errors; with `to`, of the newest accepted before it. A page reads at most 2,000 runs, as that of `GET /v1/runs` does: continue with `cursor` until `has_more` is `false`. `at_least` says that there are older ones. 403 for a caller without the role.',
  example: examples.listAllRuns,
  method: 'GET',
  path: '/v1/admin/runs',
  access: read,
  forOperators: masked('runs'),
  input: AllRunsQuery,
  reply: AllRunsList,
  handle: async ({ input, call }, { threads }) => {
    const asked = { ...selectionOf(input), ...onlyOf(input), ...pageOf(input) };
    const { runs, ...end } = await threads.listAllRuns({ ...asked, newestOfThread: false, waiting: false }, call());
    return jsonObject({ runs: JSON.stringify(runs.map((run) => ownedRun(run, true))), ...endOf(end) });
  },
});

/** Threads that are read at once. */
const readsAtOnce = 8;

/** What `read` gives for each, in their order, without those that it gives nothing for. */
async function readEach<T, R>(items: readonly T[], one: (item: T) => Promise<R | undefined>): Promise<readonly R[]> {
  const found: (R | undefined)[] = [];
  await eachOf([...items.entries()], readsAtOnce, async ([index, item]) => {
    found[index] = await one(item);
  });
  return found.filter((each) => each !== undefined);
}

export const listAllThreads = endpoint({
  name: 'listAllThreads',
  tag: 'admin',
  summary: 'List the threads of all owners, by their newest run',
  description:
    'The threads of everybody that have a run, by the acceptance of their newest, without names, titles and metadata. A page reads at most 2,000 runs: continue with `cursor` until `has_more` is `false`. The list ends with the newest 10,000 runs, and then says `at_least`. A status is that of the moment at which the thread is read.',
  example: examples.listAllThreads,
  method: 'GET',
  path: '/v1/admin/threads',
  access: read,
  forOperators: masked('threads'),
  input: AllThreadsQuery,
  reply: AllThreadsList,
  handle: async ({ input, call }, { threads }) => {
    const { status } = input;
    const asked = { statuses: [], newestOfThread: true, waiting: false };
    const { runs, ...end } = await threads.listAllRuns({ ...asked, ...onlyOf(input), ...pageOf(input) }, call());
    const shown = await readEach(runs, async ({ owner, threadId }) => {
      const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
      const isShown = thread && (status === undefined || status.some((each) => each === thread.status));
      return isShown ? ownedThread(owner, thread, true) : undefined;
    });
    return jsonObject({ threads: `[${shown.join(',')}]`, ...endOf(end) });
  },
});

export const listAllQuestions = endpoint({
  name: 'listAllQuestions',
  tag: 'admin',
  summary: 'List what waits for an answer, of all owners',
  description:
    'The threads of everybody that wait for answers or for results of tools, by the runs that ask, newest first, of the newest 10,000 runs: `at_least` says that there are older ones. Values of questions are shown with `show=contents`, for a role that reads contents, with a `reason`.',
  example: examples.listAllQuestions,
  method: 'GET',
  path: '/v1/admin/questions',
  access: read,
  forOperators: masked('questions'),
  input: AllQuestionsQuery,
  reply: AllQuestionsList,
  handle: async (request, services) => {
    const { input, call } = request;
    const { threads } = services;
    const isMasked = input.show === 'masked';
    if (!isMasked) mustReadContents(request, 'questions', services);
    const asked = { statuses: ['interrupted'], newestOfThread: false, waiting: true } as const;
    const { runs, ...end } = await threads.listAllRuns({ ...asked, ...onlyOf(input), ...pageOf(input) }, call());
    if (!isMasked)
      for (const of of new Set(runs.map(({ owner }) => owner)))
        await audit(request, { action: 'read', operation: 'listAllQuestions', of, reason: input.reason }, services);
    const questions = await readEach(runs, async (run) => ({
      ...questionOf(run),
      ...(!isMasked && { interrupts: await interruptsOf(run, { threads, call }) }),
    }));
    return jsonObject({ questions: JSON.stringify(questions), ...endOf(end) });
  },
});

const questionOf = (run: Run): Record<string, unknown> => ({
  user_id: shownOwner(run.owner),
  thread_id: run.threadId,
  run_id: run.runId,
  agent: run.agent,
  nodes: run.nodes,
  waiting_since: new Date(run.updatedAt).toISOString(),
  ...(run.wakeAt !== undefined && { deadline: new Date(run.wakeAt).toISOString() }),
});

async function interruptsOf(
  { owner, threadId }: Run,
  { threads, call }: Pick<Services, 'threads'> & Pick<EndpointRequest, 'call'>,
): Promise<unknown> {
  const filter = { threadIds: [threadId], statuses: [] };
  const order = { sortBy: 'updated_at', ascending: false, withQuestions: true, withValues: false } as const;
  const found = await threads.searchThreads({ owner, filter, ...order, limit: 1, offset: 0 }, call());
  const json = found.threads[0]?.interruptsJson;
  return json ? (JSON.parse(jsonText(json)) as unknown) : [];
}

export const getRunOfOthers = endpoint({
  name: 'getRunOfOthers',
  tag: 'admin',
  summary: 'Get a run of somebody',
  description:
    'Where the run stands, its tokens, and why it failed: the text of the error with `show=contents`. 404 when that owner has no such run.',
  example: examples.getRunOfOthers,
  method: 'GET',
  path: '/v1/admin/runs/{run_id}',
  access: read,
  forOperators: masked('runs'),
  params: RunParams,
  input: OneQuery,
  reply: OwnedRun,
  handle: async (request, services) => {
    const { input, params, call } = request;
    const of = ownerIn(input);
    const isMasked = input.show === 'masked';
    if (!isMasked) mustReadContents(request, 'runs', services);
    const runId = params.run_id;
    if (!isMasked)
      await audit(request, { action: 'read', operation: 'getRunOfOthers', of, runId, reason: input.reason }, services);
    return JSON.stringify(ownedRun(await services.threads.getRun({ owner: of, runId }, call()), isMasked));
  },
});

export const getThreadOfOthers = endpoint({
  name: 'getThreadOfOthers',
  tag: 'admin',
  summary: 'Get a thread of somebody',
  description:
    'What happens on the thread, and its newest run; names and metadata with `show=contents`. 404 when that owner has no such thread.',
  example: examples.getThreadOfOthers,
  method: 'GET',
  path: '/v1/admin/threads/{thread_id}',
  access: read,
  forOperators: masked('threads'),
  params: ThreadParams,
  input: OneQuery,
  reply: ThreadItem,
  handle: async (request, services) => {
    const { input, params, call } = request;
    const of = ownerIn(input);
    const isMasked = input.show === 'masked';
    if (!isMasked) mustReadContents(request, 'threads', services);
    const threadId = params.thread_id;
    if (!isMasked)
      await audit(
        request,
        { action: 'read', operation: 'getThreadOfOthers', of, threadId, reason: input.reason },
        services,
      );
    return ownedThread(of, await services.threads.getThread({ owner: of, threadId }, call()), isMasked);
  },
});

export const getTraceOfOthers = ofOthers(getMaskedTrace, {
  name: 'getTraceOfOthers',
  path: '/v1/admin/runs/{run_id}/trace',
  summary: 'Get the trace of a run of somebody',
  description:
    'What went on in the run: steps, nodes, attempts, calls of models and tools, with their times and tokens, as `GET /v1/runs/{run_id}/trace` has them. It names messages, and shows none, and of errors code and reason.',
  example: examples.getTraceOfOthers,
  forOperators: masked('runs'),
});

export const listStepsOfOthers = ofOthers(listRunSteps, {
  name: 'listStepsOfOthers',
  path: '/v1/admin/runs/{run_id}/steps',
  summary: 'List the steps of a run of somebody, with what each changed',
  description:
    'As `GET /v1/runs/{run_id}/steps`. For a role that reads contents; with a `reason`, which the audit keeps.',
  example: examples.listStepsOfOthers,
  forOperators: withContents('runs'),
  action: 'read',
});

export const streamRunOfOthers = ofOthers(streamRun, {
  name: 'streamRunOfOthers',
  path: '/v1/admin/runs/{run_id}/stream',
  summary: 'Follow a run of somebody',
  description:
    'As `GET /v1/runs/{run_id}/stream`. For a role that reads contents; with a `reason`, which the audit keeps.',
  example: examples.streamRunOfOthers,
  forOperators: withContents('runs'),
  action: 'read',
});

export const cancelRunOfOthers = ofOthers(cancelRun, {
  name: 'cancelRunOfOthers',
  path: '/v1/admin/runs/{run_id}/cancel',
  summary: 'Stop a run of somebody',
  description: 'As `POST /v1/runs/{run_id}/cancel`, with a `reason`, which the audit keeps.',
  example: examples.cancelRunOfOthers,
  forOperators: masked('runs'),
  action: 'stop',
});

export const retryRunOfOthers = ofOthers(retryRun, {
  name: 'retryRunOfOthers',
  path: '/v1/admin/runs/{run_id}/retry',
  summary: 'Try a failed run of somebody again',
  description:
    'As `POST /v1/runs/{run_id}/retry`, with a `reason`, which the audit keeps. The new run is its owner’s, with the claims that the failed one had.',
  example: examples.retryRunOfOthers,
  forOperators: masked('runs'),
  action: 'retry',
});

export const listRunsOfOthersThread = endpoint({
  name: 'listRunsOfOthersThread',
  tag: 'admin',
  summary: 'List the runs of a thread of somebody, newest first',
  description: 'As `GET /v1/threads/{thread_id}/runs`, without titles, questions and texts of errors.',
  example: examples.listRunsOfOthersThread,
  method: 'GET',
  path: '/v1/admin/threads/{thread_id}/runs',
  access: read,
  forOperators: masked('threads'),
  params: ThreadParams,
  input: RunsOfOthersQuery,
  reply: AllRunsList,
  handle: async ({ input, params, call }, { threads }) => {
    const key = { owner: ownerIn(input), threadId: params.thread_id };
    const { runs, cursor } = await threads.listRuns({ ...key, ...pageOf(input), offset: 0 }, call());
    return JSON.stringify({ runs: runs.map((run) => ownedRun(run, true)), has_more: cursor !== undefined, cursor });
  },
});

export const getStateOfOthers = ofOthers(getState, {
  name: 'getStateOfOthers',
  path: '/v1/admin/threads/{thread_id}/state',
  summary: 'Get the state of a thread of somebody',
  description:
    'As `GET /v1/threads/{thread_id}/state`. For a role that reads contents; with a `reason`, which the audit keeps.',
  example: examples.getStateOfOthers,
  forOperators: withContents('threads'),
  action: 'read',
});

export const listMessagesOfOthers = ofOthers(listMessages, {
  name: 'listMessagesOfOthers',
  path: '/v1/admin/threads/{thread_id}/messages',
  summary: 'List the messages of a thread of somebody',
  description:
    'As `GET /v1/threads/{thread_id}/messages`. For a role that reads contents; with a `reason`, which the audit keeps.',
  example: examples.listMessagesOfOthers,
  forOperators: withContents('threads'),
  action: 'read',
});

const dayMs = 24 * 3600 * 1000;
const mostDays = 366;

export const exportAudit = endpoint({
  name: 'exportAudit',
  tag: 'admin',
  summary: 'Export who read or did what with things of others',
  description:
    'A line of JSON for each read of contents, stop and retry, the newest first; nothing changes or removes a line. For admins. A reply holds at most 10,000 lines: `before` with the `id` of the last one continues it.',
  example: examples.exportAudit,
  method: 'GET',
  path: '/v1/admin/audit',
  access: read,
  forOperators: { what: 'audit', contents: false },
  answer: 'content',
  input: AuditQuery,
  reply: AuditLines,
  handle: async ({ input, requestId, call }, { threads }) => {
    const to = readTime(input.to, ['body', 'to']) ?? Date.now() + 1;
    const from = readTime(input.from, ['body', 'from']) ?? to - dayMs;
    if (to - from > mostDays * dayMs) throw invalidAt(['query', 'from'], 'must be at most 366 days before to');
    const lines: string[] = [];
    for await (const line of readLines(threads, { from, to, before: input.before }, call)) {
      lines.push(`${lineText(line)}\n`);
      if (lines.length === input.limit) break;
    }
    const bytes = Buffer.from(lines.join(''));
    return {
      ...{ contentType: 'application/x-ndjson', filename: 'audit.jsonl', isInline: false, isEmbeddable: false },
      ...{ size: bytes.byteLength, tag: requestId },
      open: (part) => Promise.resolve(oneOf(part ? bytes.subarray(part.start, part.end + 1) : bytes)),
    };
  },
});

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

function lineText({ id, json }: StoredLine): string {
  const { who, roles, keyId, action, operation, of, runId, threadId, reason, requestId } = JSON.parse(
    jsonText(json),
  ) as AuditLine;
  return JSON.stringify({
    ...{ id, at: new Date(timeOf(id)).toISOString(), user_id: shownOwner(who), roles, key_id: keyId },
    ...{ action, operation },
    ...{ owner_id: shownOwner(of), run_id: runId, thread_id: threadId, reason, request_id: requestId },
  });
}
