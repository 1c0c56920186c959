import { eachOf, groupsOf } from '@agent-workflow/kit/each';
import { canBeRetried, ServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { StopRunReply } from '@agent-workflow/protos/execution';
import { idText } from '@agent-workflow/protos/message';
import type { KeptPartial } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt, located } from '../../../http/fields.ts';
import { makeTicket } from '../../../tickets/index.ts';
import { ofKey } from '../../../api-keys/scopes.ts';
import type { Services } from '../../common/services.ts';
import * as examples from '../examples/runs.ts';
import { partRefusal } from '../replies/envelope.ts';
import { CreateRunInput, InvokeResult, RunBatchInput, StreamChunk } from '../schemas/graph.ts';
import {
  AcceptedRun,
  AcceptedRuns,
  CancelInput,
  Run,
  RunParams,
  StreamQuery,
  NoInput,
  RunTicket,
  StoppedRun,
  RunList,
  RunsQuery,
  ChainQuery,
  RunChain,
} from '../schemas/runs.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { endpoint } from './common/endpoint.ts';
import { pageOf } from './common/page.ts';
import { toRunItem, toRunItems } from './common/shown-items.ts';
import { cancelDelayed, delayedRun, runOnRecord, runOr } from '../../common/delayed-runs.ts';
import { delayedItem } from './delayed-item.ts';
import { runChain } from '../../common/run-chain.ts';
import { resultOfRun } from './run-result.ts';
import { accessOfCompletion, startRetry, startRun } from '../../common/start-run.ts';
import { accessOfModes, streamExtras } from './stream-modes.ts';

/** What a reply to a stop request says of the run that these ids name. */
export function stoppedText({ status, stoppedNow, droppedQuestions = [] }: StopRunReply, ids: object): object {
  if (droppedQuestions.length > 0) {
    const message = 'the run waited for an answer of others: what it asked was dropped';
    return { success: true, ...ids, status, message, dropped_questions: droppedQuestions };
  }
  const message = stoppedNow ? 'the run was stopped' : `the run had ended before: ${status}`;
  return { success: stoppedNow, ...ids, status, message };
}

export interface Stopping {
  readonly keep_partial?: boolean;
}

export const keeping = ({ keep_partial: keepPartial }: Stopping): { readonly keepPartial?: true } =>
  keepPartial === true ? { keepPartial } : {};

/** What a stop says of the text that it was to keep. */
export const toReceipt = ({ keep_partial: isAsked }: Stopping, partial: KeptPartial | undefined): object => {
  if (isAsked !== true) return {};
  if (!partial) return { partial: false };
  return { partial: true, partial_seq: partial.seq, partial_message_ids: partial.messageIds };
};

/** Accepts a run and answers at once: the run is on record and goes on without its caller. */
export const createRun = endpoint({
  name: 'createRun',
  tag: 'runs',
  summary: 'Accept a run and answer before it ends',
  description:
    'Puts a run on record and answers before it has ended. `GET /v1/runs/{run_id}`, `/wait` and `/stream` show what becomes of it. With `start_at` the run is `scheduled`: it holds no thread and is in no list of runs until then.',
  example: examples.createRun,
  method: 'POST',
  path: '/v1/runs',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  alsoAccess: accessOfCompletion,
  status: 202,
  input: CreateRunInput,
  reply: AcceptedRun,
  handle: async (request, services) => JSON.stringify(await acceptRun(request, services)),
});

/** Starts a run, now or at the time that its request names. @returns what the reply says of it. */
async function acceptRun(request: EndpointRequest<unknown, CreateRunInput>, services: Services): Promise<object> {
  const delayed = request.input.start_at === undefined ? undefined : await delayedRun(request, {}, services);
  if (delayed !== undefined) {
    const { runId, threadId, at } = delayed;
    return { run_id: runId, thread_id: threadId, status: 'scheduled', start_at: new Date(at).toISOString() };
  }
  const { runId, threadId, status } = await startRun(request, { granularity: 'low' }, services);
  return { run_id: runId, thread_id: threadId, status };
}

/** Runs that are accepted at the same time. */
const acceptedAtOnce = 8;

/** Accepts several runs, each as {@link createRun} does. A refusal concerns its run alone. */
export const createRuns = endpoint({
  name: 'createRuns',
  tag: 'runs',
  summary: 'Accept several runs of one agent',
  description:
    'Puts up to 100 runs on record, each as `POST /v1/runs` would, and answers before they have ended. A run that is refused stands in the reply with its `error` and holds up no other; a body that does not fit the schema is refused as a whole. With an `Idempotency-Key` a run that could not be accepted for the moment makes the whole request 503, and the same request again accepts those that are missing.',
  example: examples.createRuns,
  method: 'POST',
  path: '/v1/runs/batch',
  isOfAgent: true,
  access: { resource: 'graph', action: 'invoke' },
  alsoAccess: ({ runs }: RunBatchInput) => runs.flatMap(accessOfCompletion).slice(0, 1),
  status: 202,
  input: RunBatchInput,
  reply: AcceptedRuns,
  handle: async (request, services) => {
    const { runs, config } = request.input;
    for (const [index, { config: own }] of runs.entries())
      if (own?.agent !== undefined && own.agent !== config?.agent)
        throw invalidAt(['body', 'runs', index, 'config', 'agent'], 'must be the agent of the batch, or absent');
    const replies: object[] = [];
    const accept = async (index: number): Promise<void> => {
      const input = runs[index];
      if (!input) return;
      const ofAgent = { ...input.config, ...(config?.agent !== undefined && { agent: config.agent }) };
      const one = {
        ...request,
        input: { ...input, config: ofAgent },
        newId: (what: string) => request.newId(`${String(index)} ${what}`),
      };
      try {
        replies[index] = await acceptRun(one, services);
      } catch (thrown) {
        if (request.idempotency.onceKey !== undefined && canBeRetried(thrown)) throw thrown;
        replies[index] = { error: partRefusal(thrown, ['runs', index]) };
      }
    };
    const threads = groupsOf(runs, ({ config: own }) =>
      own?.thread_id === undefined ? undefined : idText(own.thread_id),
    );
    await eachOf(threads, acceptedAtOnce, async (indexes) => {
      for (const index of indexes) await accept(index);
    });
    return JSON.stringify({ runs: replies });
  },
});

export const getRun = endpoint({
  name: 'getRun',
  tag: 'runs',
  summary: 'Get a run',
  description: 'Where a run stands, its tokens, and why it failed.',
  example: examples.getRun,
  method: 'GET',
  path: '/v1/runs/{run_id}',
  access: { resource: 'graph', action: 'read' },
  params: RunParams,
  reply: Run,
  handle: async ({ owner, params, call }, { threads, execution }) => {
    const key = { owner, runId: params.run_id };
    const read = async (): Promise<object> => toRunItem(await threads.getRun(key, call()));
    return JSON.stringify(await runOr(read, () => delayedItem({ threads, execution }, key, call())));
  },
});

/** A run and those that answer it. */
export const getRunChain = endpoint({
  name: 'getRunChain',
  tag: 'runs',
  summary: 'List a run and the runs that answer it',
  description:
    'The run and those that follow from it, in order: each answers what the one before it has asked (`resumed_by`). The last one says where the whole stands. With `has_more` the chain of the last run continues it.',
  example: examples.getRunChain,
  method: 'GET',
  path: '/v1/runs/{run_id}/chain',
  access: { resource: 'graph', action: 'read' },
  params: RunParams,
  input: ChainQuery,
  reply: RunChain,
  handle: async ({ owner, params, input, call }, { threads, log }) => {
    const runs = [];
    for await (const run of runChain({ owner, runId: params.run_id, call }, threads)) {
      runs.push(run);
      if (runs.length === input.limit) break;
    }
    return JSON.stringify({ runs: toRunItems(runs, log), has_more: runs.at(-1)?.resumedBy !== undefined });
  },
});

/** Waits for the end of a run and gives the result as invoke does. */
export const waitForRun = endpoint({
  name: 'waitForRun',
  tag: 'runs',
  summary: 'Get the result of a run as soon as it has ended',
  description:
    'Waits for the end of a run and gives its result, as invoke does. A run that does not end within `INVOKE_TIMEOUT_MS` is 504 and goes on.',
  example: examples.waitForRun,
  method: 'GET',
  path: '/v1/runs/{run_id}/wait',
  access: { resource: 'graph', action: 'read' },
  params: RunParams,
  reply: InvokeResult,
  handle: async ({ owner, params, call }, services) => {
    const runId = params.run_id;
    const { threadId } = await runOnRecord(services.threads, { owner, runId }, call());
    return resultOfRun({ owner, runId, threadId, call }, services);
  },
});

/** The longest stream, one day: a stream normally ends with its run, or when its reader disconnects. */
export const streamMs = 24 * 60 * 60 * 1000;

/** Streams every event after the last one that the reader has seen. */
export const streamRun = endpoint({
  name: 'streamRun',
  tag: 'runs',
  summary: 'Follow a run, from the event after the last one seen',
  description:
    'Sends the events of a run after the last one that was seen, in their order and each once, whether the run is under way or has ended. The place is `Last-Event-ID`, else `after`, else the start. Events are kept for an hour after the end (`EVENTS_RETENTION`); later they are made again from the record, and `metadata` says `rebuilt: true`.',
  example: examples.streamRun,
  method: 'GET',
  path: '/v1/runs/{run_id}/stream',
  answer: 'events',
  access: { resource: 'graph', action: 'stream' },
  params: RunParams,
  takesTicket: true,
  takesLastEventId: true,
  alsoAccess: accessOfModes,
  input: StreamQuery,
  reply: StreamChunk,
  handle: async ({ owner, params, input, call, lastEventId }, services) => {
    const runId = params.run_id;
    await runOnRecord(services.threads, { owner, runId }, call());
    const after = lastEventId === undefined ? (input.after ?? 0) : seqOf(lastEventId, runId);
    const extras = streamExtras(services, { owner, runId, modes: input.stream_modes });
    return { follow: { owner, runId, after }, call: call(streamMs), extras };
  },
});

/** The number that `{run_id}:{seq}` ends with. */
function seqOf(lastEventId: string, runId: string): number {
  const loc = ['header', 'Last-Event-ID'];
  const colon = lastEventId.lastIndexOf(':');
  const seq = Number(lastEventId.slice(colon + 1));
  if (lastEventId.slice(0, Math.max(colon, 0)) !== runId) {
    const msg = `is not an event of run "${runId}"`;
    throw new ServiceError('BadRequest', `Last-Event-ID ${msg}`, {
      details: [located({ loc, msg, type: 'value_error' })],
    });
  }
  if (!/^\d{1,15}$/.test(lastEventId.slice(colon + 1))) {
    throw invalidAt(loc, 'must end with the number of an event', 'int_parsing');
  }
  return seq;
}

/** Makes a ticket, with which callers that cannot send headers follow this run. */
export const makeRunTicket = endpoint({
  name: 'makeRunTicket',
  tag: 'runs',
  summary: 'Make a ticket with which the run is followed without other credentials, for ten minutes',
  description:
    'For `EventSource` in browsers, which sends no headers: `GET /v1/runs/{run_id}/stream?ticket=…` follows this run, any number of times within ten minutes.',
  example: examples.makeRunTicket,
  method: 'POST',
  path: '/v1/runs/{run_id}/ticket',
  access: { resource: 'graph', action: 'stream' },
  secret: true,
  params: RunParams,
  input: NoInput,
  reply: RunTicket,
  handle: async ({ owner, user, params, call }, { threads, tickets }) => {
    const runId = params.run_id;
    await runOnRecord(threads, { owner, runId }, call());
    const { text, expiresAt } = await makeTicket(tickets, { owner, runId, ...ofKey(user) });
    return JSON.stringify({ ticket: text, expires_at: new Date(expiresAt).toISOString() });
  },
});

/** Stops a run. For one that has ended the reply gives its status. */
export const cancelRun = endpoint({
  name: 'cancelRun',
  tag: 'runs',
  summary: 'Stop a run at once',
  description:
    'Stops a run at once, also in the middle of a node. The steps that were committed stay. For a run that has ended the reply is its status; what it asks others is dropped (`dropped_questions`). A `scheduled` run does not start, and is 404 after that.',
  example: examples.cancelRun,
  method: 'POST',
  path: '/v1/runs/{run_id}/cancel',
  access: { resource: 'graph', action: 'stop' },
  params: RunParams,
  input: CancelInput,
  reply: StoppedRun,
  handle: async ({ owner, keepsQuestions, params, input, call, idempotency }, { execution, threads }) => {
    const runId = params.run_id;
    const stop = { owner, runId, ...idempotency, ...keeping(input), ...(keepsQuestions && { keepsQuestions }) };
    const stopped = await undefinedIfNotFound(execution.stopRun(stop, call()));
    return JSON.stringify({
      ...stoppedText(stopped ?? (await cancelDelayed({ owner, runId, call }, { threads })), { run_id: runId }),
      ...toReceipt(input, stopped?.partial),
    });
  },
});

/** Tries a failed run again, from the step that failed. */
export const retryRun = endpoint({
  name: 'retryRun',
  tag: 'runs',
  summary: 'Try a failed run again, from the step that failed',
  description:
    'Makes a new run that begins with the step in which the failed one failed, with its input, config and tools; `resumes` names the failed run. What was committed stays, and what had returned in that step does not run again. 409 when the run has not failed, or its thread was changed since.',
  example: examples.retryRun,
  method: 'POST',
  path: '/v1/runs/{run_id}/retry',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  status: 202,
  params: RunParams,
  input: NoInput,
  reply: AcceptedRun,
  handle: async (request, services) => {
    const { owner, params, call } = request;
    const failed = await runOnRecord(services.threads, { owner, runId: params.run_id }, call());
    const { runId, threadId, status } = await startRetry(request, failed, services);
    return JSON.stringify({ run_id: runId, thread_id: threadId, status });
  },
});

/** The runs of a thread, newest first. */
export const listRuns = endpoint({
  name: 'listRuns',
  tag: 'runs',
  summary: 'List the runs of a thread, newest first',
  description: 'The runs of a thread, newest first, in pages.',
  example: examples.listRuns,
  method: 'GET',
  path: '/v1/threads/{thread_id}/runs',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  input: RunsQuery,
  reply: RunList,
  handle: async ({ owner, params, input, call }, { threads, log }) => {
    const { runs, cursor } = await threads.listRuns({ owner, threadId: params.thread_id, ...pageOf(input) }, call());
    return JSON.stringify({ runs: toRunItems(runs, log), has_more: cursor !== undefined, cursor });
  },
});
