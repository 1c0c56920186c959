import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { messageKeyed } from '../../../idempotency/index.ts';
import { behindAnswers } from '../../common/questions.ts';
import type { Services } from '../../common/services.ts';
import { readId, shownId } from '../ids/shown-id.ts';
import { conversationOf } from '../in/named.ts';
import { fromItems } from '../messages/from-items.ts';
import { pendingIn, toGiven, withoutAnswers, type ReadMessage } from '../messages/conversation.ts';
import { refusalWith } from '../replies/refusal.ts';
import type { ResponseInput } from '../schemas/responses.ts';
import { digestOf, isSentAgain, otherAttempt, type EarlierPlace } from './earlier-attempt.ts';
import { placeOf, runOfOthers, waitingRun, type Place } from './place.ts';
import { readStored } from './response-facts.ts';

type Request = EndpointRequest<unknown, ResponseInput>;

interface ForResponse {
  readonly messages: readonly ReadMessage[];
  readonly model: string;
  /** Whether no run of another request was in its way yet. */
  readonly isFirst: boolean;
}

/**
 * The thread of a response: that of the one before it, that of its conversation, or one of its own. All of its input is new there, but answers to what
 * others have answered already: with these alone it is the response to which the answers of others have led.
 * @throws NotFound for what is absent
 */
export async function placeOfResponse(
  request: Request,
  { messages, model, isFirst }: ForResponse,
  services: Pick<Services, 'threads'>,
): Promise<Place> {
  const { previous_response_id: previous, conversation, store } = request.input;
  if (previous !== undefined && store === false)
    throw refusalWith('Invalid', 'invalid_value', 'a response that is not stored cannot go on from one that is', [
      'store',
    ]);
  if (previous === undefined && conversation === undefined)
    return placeOf(request, { messages, model }, undefined, services);
  const pending = pendingIn(messages);
  const waiting = pending && (await waitingRun(request, pending.runId, services));
  const others = waiting || !pending ? undefined : await runOfOthers(request, { ...pending, model }, services);
  const given = others ? withoutAnswers(messages) : messages;
  const isBehind =
    others && (shownId('resp', others.run.runId) === previous || conversationOf(conversation) === others.run.threadId);
  if (isBehind && given.length === 0 && request.input.instructions === undefined)
    return { threadId: others.run.threadId, isKept: true, run: others.latest };
  const thread: ThreadOfPlace =
    previous === undefined
      ? { threadId: await conversationThread(request, services) }
      : await threadAfter(request, { previous, model, isFirst }, services);
  // A copy asks what was asked: it may be answered otherwise there.
  const isOpen = thread.isCopy === true || waiting?.threadId === thread.threadId;
  return { ...thread, isKept: true, ...toGiven(given, isOpen) };
}

/** Where an earlier attempt at a request would have gone on. */
export async function placeOfEarlier(
  { input, owner, call }: Request,
  { threads }: Pick<Services, 'threads'>,
): Promise<EarlierPlace> {
  const { previous_response_id: previous, conversation } = input;
  const runId = previous === undefined ? undefined : readId('resp', previous);
  const before = runId === undefined ? undefined : await undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
  return {
    threadId: before?.threadId ?? conversationOf(conversation),
    copyId: before && copyIdOf({ owner, input }, before.runId),
    pendingRunId: pendingIn(fromItems(input.input))?.runId,
  };
}

async function conversationThread(
  { input, owner, call }: Request,
  { threads }: Pick<Services, 'threads'>,
): Promise<string> {
  const threadId = conversationOf(input.conversation);
  const found = threadId !== undefined && (await undefinedIfNotFound(threads.getThread({ owner, threadId }, call())));
  if (!found)
    throw refusalWith('NotFound', 'conversation_not_found', 'There is no such conversation.', ['conversation']);
  return found.threadId;
}

/** Checkpoints among which the last one of a response is looked for, and how many are read at once. */
const most = 1000;
const atOnce = 100;

type ThreadOfPlace = Pick<Place, 'newestRunId' | 'isCopy' | 'run'> & { readonly threadId: string };

/**
 * The thread in which a response goes on: that of the one before it, or where that is not the newest there, a copy as it left it. Behind a response that
 * asked others it goes on behind their answer.
 */
async function threadAfter(
  request: Request,
  { previous, model, isFirst }: Pick<ForResponse, 'model' | 'isFirst'> & { readonly previous: string },
  { threads }: Pick<Services, 'threads'>,
): Promise<ThreadOfPlace> {
  const { owner, call, newId, idempotency } = request;
  if (idempotency.onceKey !== undefined) {
    const made = await undefinedIfNotFound(threads.getRun({ owner, runId: newId('run') }, call()));
    if (made) return { threadId: made.threadId };
  }
  const runId = readId('resp', previous);
  const known = runId === undefined ? undefined : await readStored({ owner, runId }, call(), { threads }).catch(absent);
  if (!known)
    throw refusalWith('NotFound', 'previous_response_not_found', 'There is no such response.', [
      'previous_response_id',
    ]);
  const { threadId, agent } = known.run;
  if (agent !== model)
    throw refusalWith('Invalid', 'invalid_value', `that response is one of the model "${agent}"`, [
      'previous_response_id',
    ]);
  const run = await behindAnswers(known.run, request, { threads });
  const thread = await threads.getThread({ owner, threadId }, call());
  if (thread.runId === run.runId) return { threadId, newestRunId: run.runId };
  const found = await otherAttempt(request, () => placeOfEarlier(request, { threads }), { threads });
  if (found) return { threadId: found.threadId, run: found };
  const checkpointId = await lastCheckpointOf(request, run, { threads });
  if (checkpointId === undefined)
    throw refusalWith(
      'Invalid',
      'previous_response_not_kept',
      'The state after that response is not kept any more: go on from the newest one.',
      ['previous_response_id'],
    );
  // The same request by intent has a copy of its own; another attempt at this one makes, or has made, the same copy.
  const own = copyIdOf(request, known.run.runId);
  const isShared = isFirst && isSentAgain(request);
  const isTaken =
    idempotency.onceKey !== undefined ||
    (!isShared && (await undefinedIfNotFound(threads.getThread({ owner, threadId: own }, call()))) !== undefined);
  const newThreadId = isTaken ? newId('fork') : own;
  await threads.forkThread({ owner, threadId, newThreadId, checkpointId }, call());
  return { threadId: newThreadId, isCopy: true, ...(!isTaken && { newestRunId: '' }) };
}

/** Is replaced with the ids of the key. */
const unkeyed = (what: string): string => what;

/** The copy in which a request goes on from a response: by its id the request finds its run when it comes again. */
const copyIdOf = ({ owner, input }: Pick<Request, 'owner' | 'input'>, runId: string): string =>
  messageKeyed({ owner, newId: unkeyed, idempotency: {} }, ['openai copy', runId, digestOf(input)]).newId('fork');

function absent(error: unknown): undefined {
  if (!isServiceError(error, 'NotFound')) throw error;
  return undefined;
}

async function lastCheckpointOf(
  { owner, call }: Request,
  { runId, threadId }: { readonly runId: string; readonly threadId: string },
  { threads }: Pick<Services, 'threads'>,
): Promise<string | undefined> {
  let cursor: string | undefined;
  for (let read = 0; read < most; read += atOnce) {
    const more = cursor === undefined ? {} : { cursor };
    const page = await threads.listCheckpoints({ owner, threadId, limit: atOnce, offset: 0, ...more }, call());
    const last = page.checkpoints.find((checkpoint) => checkpoint.runId === runId);
    if (last) return last.checkpointId;
    if (page.cursor === undefined) return undefined;
    cursor = page.cursor;
  }
  return undefined;
}
