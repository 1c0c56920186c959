import { within } from '@agent-workflow/protos/call';
import type { StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, RunStream } from '../../../http/endpoint.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { framed } from '../../common/framed.ts';
import { knownAgents } from '../../common/known-agents.ts';
import { behindAnswers } from '../../common/questions.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { RunTerms } from '../../../schedules/run-terms.ts';
import type { RunOrder } from '../../common/run-order.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { isNewerRun, startRun } from '../../common/start-run.ts';
import { createResponseFrames } from '../frames/response-frames.ts';
import { responseFrame } from '../frames/sse.ts';
import { shownId } from '../ids/shown-id.ts';
import { toResponseOrder } from '../in/response-order.ts';
import { fromItems } from '../messages/from-items.ts';
import { itemsOf } from '../out/items.ts';
import { fromKeptResponse, toKeptResponse } from '../out/kept-response.ts';
import type { ResponseFacts } from '../out/response.ts';
import { asSent, refusalWith } from '../replies/refusal.ts';
import {
  CreateResponse,
  ItemsQuery,
  ReadResponse,
  ResponseParams,
  type ReadInput,
  type ResponseInput,
} from '../schemas/responses.ts';
import { itemsPage } from './items-page.ts';
import { awaitEndMs, streamMs, unkept } from './kept.ts';
import { refuseUnknownModel } from './known-model.ts';
import { endedText, readFacts, readStored, responseText } from './response-facts.ts';
import { placeOfEarlier, placeOfResponse } from './response-place.ts';
import { digestOf, earlierAttempt, isSentAgain } from './earlier-attempt.ts';
import { noteStarted } from './started.ts';

type Request = EndpointRequest<unknown, ResponseInput>;

const streaming = { resource: 'graph', action: 'stream' } as const;

const createResponse = endpoint({
  name: 'oaCreateResponse',
  method: 'POST',
  path: '/openai/v1/responses',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  alsoAccess: ({ stream }: ResponseInput) => (stream ? streaming : undefined),
  mayStream: ({ stream }: ResponseInput) => stream === true,
  input: CreateResponse,
  handle: async (request, services) => {
    const { owner, call, input, origin } = request;
    const { stream, background } = input;
    const waits = !stream && !background;
    const again = await earlierAttempt(request, () => placeOfEarlier(request, services), services);
    const begun = again ? followed(again) : await beginNew(request, waits, services);
    const { facts, ...run } = begun;
    const { runId, status } = run;
    const justStarted = isOpen(status);
    if (stream) return following({ owner, runId, justStarted, call, origin, facts }, services);
    const end = waits ? await endOfRun({ owner, call, ...run, justStarted }, services) : undefined;
    if (end && facts) return endedText({ owner, origin }, { facts, end, endedAt: end.at }, services);
    return responseText(request, await readFacts({ owner, runId }, call(), services), services);
  },
});

interface Begun extends Pick<StartReply, 'runId' | 'threadId' | 'status' | 'end'> {
  /** What is known of the response; absent where an earlier request may have begun it. */
  readonly facts?: ResponseFacts;
}

/** A run that is there, whose end is read from the record. */
const followed = ({ runId, threadId, status }: Run): Begun => ({ runId, threadId, status });

async function beginNew(request: Request, waits: boolean, services: Services): Promise<Begun> {
  const begun = await begin(request, waits, services);
  if ('found' in begun) return followed(begun.found);
  const { ordered, started } = begun;
  const { order, model, terms } = ordered;
  const { runId, existed, createdAt } = started;
  await noteStarted(request, { order, runId }, services);
  if (existed || createdAt === undefined) return started;
  const { input: _, ...kept } = fromKeptResponse(terms.keptRequest);
  return { ...started, facts: { run: { runId, agent: model, createdAt }, kept } };
}

/**
 * Starts the run of a response. Where another has gone on from the same one a moment before, it goes on in a copy of its thread, unless that was another
 * attempt at it; a copy in which no run is started is deleted. `isFirst`: no run was in its way yet.
 */
async function begin(
  request: Request,
  waits: boolean,
  services: Services,
  isFirst = true,
): Promise<{ readonly ordered: Ordered; readonly started: StartReply } | { readonly found: Run }> {
  const ordered = await orderOf(request, isFirst, services);
  if ('found' in ordered) return ordered;
  const { order, isKept, terms, newestRunId, copy } = ordered;
  try {
    const started = await startRun(
      { ...request, input: order },
      { granularity: 'low', terms, newestRunId, awaitEndMs: waits && isKept ? awaitEndMs : undefined },
      services,
    );
    return { ordered, started };
  } catch (error) {
    if (copy !== undefined) await deleteUnused(request, copy, services);
    if (isNewerRun(error)) return begin(request, waits, services, false);
    throw asSent(error, { messages: 'input', inFunction: false });
  }
}

/** Deletes a thread in which no run was started. */
async function deleteUnused({ owner }: Request, threadId: string, services: Services): Promise<void> {
  const { threads, execution, config, log } = services;
  // The caller may have disconnected.
  const call = () => within(config.CALL_TIMEOUT_MS);
  try {
    const { runId } = await threads.getThread({ owner, threadId }, call());
    if (runId === undefined) await execution.deleteThread({ owner, threadId }, call());
  } catch (error) {
    log.warn(
      { err: error, thread_id: threadId },
      'the copy of a thread in which no run was started could not be deleted',
    );
  }
}

/** The id of the message with the instructions of a response: in a thread those that come later take the place of those before. */
const instructionsId = 'instructions';

interface Ordered {
  readonly order: RunOrder;
  readonly model: string;
  readonly terms: RunTerms;
  readonly isKept: boolean;
  readonly newestRunId: string | undefined;
  /** The thread, where it is a copy that was made for this request. */
  readonly copy: string | undefined;
}

/** The run that a response asks for, or one that has its result already. @throws Invalid naming the field, NotFound for what is absent */
async function orderOf(
  request: Request,
  isFirst: boolean,
  services: Services,
): Promise<Ordered | { readonly found: Run }> {
  const { input, call, idempotency } = request;
  const { config, ...order } = toResponseOrder(input);
  const model = input.model ?? (await knownAgents(services.execution, call())).defaultName;
  if (model === undefined) throw refusalWith('Invalid', 'missing_required_parameter', 'model is required', ['model']);
  await refuseUnknownModel(model, request, services);
  const messages = fromItems(input.input);
  const { instructions } = input;
  if (messages.length === 0 && instructions === undefined)
    throw refusalWith('Invalid', 'missing_required_parameter', 'input is required', ['input']);
  const place = await placeOfResponse(request, { messages, model, isFirst }, services);
  const { threadId, messages: given = [], isKept: hasThread, newestRunId, isCopy, run, ...more } = place;
  if (run) return { found: run };
  const isKept = input.store !== false;
  const isUnkept = !isKept && !hasThread;
  const all = [
    ...(instructions === undefined ? [] : [{ message_id: instructionsId, role: 'system', content: instructions }]),
    ...given,
  ];
  const keptRequest = toKeptResponse(input, messages.flatMap(shownItems), {
    ...{ isThreadUnkept: isUnkept, digest: digestOf(input), isAgain: isSentAgain(request) },
  });
  return {
    isKept,
    newestRunId,
    copy: isCopy ? threadId : undefined,
    model,
    terms: { keptRequest },
    order: {
      ...order,
      ...more,
      messages: all,
      config: {
        ...config,
        agent: model,
        ...(threadId !== undefined && { thread_id: threadId }),
        ...(isUnkept && unkept),
        on_disconnect: isKept || idempotency.onceKey !== undefined ? 'continue' : 'cancel',
      },
    },
  };
}

/** The items of a message of the input, whose ids count through it. */
const shownItems = ({ role, content }: { readonly role: unknown; readonly content: unknown }, index: number) =>
  itemsOf({ message_id: `input-${String(index)}`, role, content, timestamp: '' } as Message);

interface Following extends Pick<EndpointRequest, 'owner' | 'call' | 'origin'> {
  readonly runId: string;
  readonly justStarted?: boolean;
  /** The number of the last event that the reader has. */
  readonly startingAfter?: number;
  /** Absent: they are read from the record. */
  readonly facts?: ResponseFacts | undefined;
}

/** The events of a response behind one of them. */
const following = (
  { owner, runId, call, origin, justStarted = false, startingAfter = -1, facts }: Following,
  services: Pick<Services, 'threads' | 'files'>,
): RunStream => ({
  follow: { owner, runId, after: 0, justStarted },
  call: call(streamMs),
  extras: framed({
    name: `response ${String(startingAfter)} ${origin()}`,
    begin: (_scope, reading) =>
      createResponseFrames(
        async () => facts ?? readFacts({ owner, runId }, reading, services),
        addressesOf({ owner, origin }, services),
      ),
    encode: (events) => events.filter(({ sequence_number: number }) => number > startingAfter).map(responseFrame),
  }),
});

const getResponse = endpoint({
  name: 'oaGetResponse',
  method: 'GET',
  path: '/openai/v1/responses/{run_id}',
  access: { resource: 'checkpointer', action: 'read' },
  alsoAccess: ({ stream }: ReadInput) => (stream === 'true' ? streaming : undefined),
  mayStream: ({ stream }: ReadInput) => stream === 'true',
  params: ResponseParams,
  input: ReadResponse,
  handle: async (request, services) => {
    const { owner, params, input, call, origin } = request;
    const runId = params.run_id;
    const facts = await readStored({ owner, runId }, call(), services);
    const { stream, starting_after: startingAfter } = input;
    if (stream === 'true')
      return following({ owner, runId, call, origin, ...(startingAfter !== undefined && { startingAfter }) }, services);
    if (startingAfter !== undefined)
      throw refusalWith('Invalid', 'invalid_value', 'starting_after takes stream=true', ['starting_after']);
    return responseText(request, facts, services);
  },
});

const cancelResponse = endpoint({
  name: 'oaCancelResponse',
  method: 'POST',
  path: '/openai/v1/responses/{run_id}/cancel',
  access: { resource: 'graph', action: 'stop' },
  params: ResponseParams,
  handle: async (request, services) => {
    const { owner, params, idempotency, call } = request;
    const runId = params.run_id;
    const { run } = await readStored({ owner, runId }, call(), services);
    const last = await behindAnswers(run, request, services);
    await services.execution.stopRun({ owner, runId: last.runId, ...idempotency }, call());
    return responseText(request, await readFacts({ owner, runId }, call(), services), services);
  },
});

const deleteResponse = endpoint({
  name: 'oaDeleteResponse',
  method: 'DELETE',
  path: '/openai/v1/responses/{run_id}',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ResponseParams,
  handle: async ({ owner, params, idempotency, call }, services) => {
    const { run } = await readStored({ owner, runId: params.run_id }, call(), services);
    const { threadId, runId } = run;
    const thread = await services.threads.getThread({ owner, threadId }, call());
    // A conversation that its caller made is not the response's alone, however few responses it has.
    if (run.ordinal !== 1 || thread.runId !== runId || !run.isNewThread)
      throw refusalWith(
        'BadRequest',
        'response_has_conversation',
        'Other responses stand in the thread of this one: delete its conversation.',
      );
    await services.execution.deleteThread({ owner, threadId, ...idempotency }, call());
    return JSON.stringify({ id: shownId('resp', runId), object: 'response', deleted: true });
  },
});

const listInputItems = endpoint({
  name: 'oaListInputItems',
  method: 'GET',
  path: '/openai/v1/responses/{run_id}/input_items',
  access: { resource: 'checkpointer', action: 'read' },
  params: ResponseParams,
  input: ItemsQuery,
  handle: async ({ owner, params, input, call }, services) => {
    const { kept } = await readStored({ owner, runId: params.run_id }, call(), services);
    if (!kept.input)
      throw refusalWith(
        'NotFound',
        'input_not_kept',
        'The input of this response was too large to be kept with it, or it was started otherwise: read its conversation.',
      );
    return JSON.stringify(itemsPage(kept.input as Parameters<typeof itemsPage>[0], input));
  },
});

export const responseRows = [createResponse, getResponse, cancelResponse, deleteResponse, listInputItems];
