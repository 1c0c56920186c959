import type { StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, RunStream } from '../../../http/endpoint.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { framed } from '../../common/framed.ts';
import { endOfRun, type AwaitedRun } from '../../common/run-end.ts';
import type { RunTerms } from '../../../schedules/run-terms.ts';
import type { RunOrder } from '../../common/run-order.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { startRun } from '../../common/start-run.ts';
import { createChatFrames } from '../frames/chat-frames.ts';
import { toChatOrder } from '../in/chat-order.ts';
import { threadIn } from '../in/named.ts';
import { fromChat } from '../messages/from-chat.ts';
import { pendingIn } from '../messages/conversation.ts';
import { toKeptCompletion } from '../out/kept-response.ts';
import { toChatCompletion } from '../out/chat-completion.ts';
import { resultIn } from '../out/run-result.ts';
import { asSent, failed } from '../replies/refusal.ts';
import { ChatCompletion, type ChatInput } from '../schemas/chat.ts';
import { digestOf, earlierAttempt } from './earlier-attempt.ts';
import { awaitEndMs, streamMs, unkept } from './kept.ts';
import { refuseUnknownModel } from './known-model.ts';
import { placeOf } from './place.ts';
import { isConversationThere, runOfConversation, threadOfConversation } from './sent-again.ts';
import { noteStarted } from './started.ts';

type Request = EndpointRequest<unknown, ChatInput>;

const createCompletion = endpoint({
  name: 'oaCreateChatCompletion',
  method: 'POST',
  path: '/openai/v1/chat/completions',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  alsoAccess: ({ stream }: ChatInput) => (stream ? ({ resource: 'graph', action: 'stream' } as const) : undefined),
  mayStream: ({ stream }: ChatInput) => stream === true,
  input: ChatCompletion,
  handle: (request, services) => (request.input.stream ? streamed(request, services) : answered(request, services)),
});

interface Ordered {
  readonly order: RunOrder;
  readonly terms: RunTerms;
}

/** The run that a completion asks for, or one that has its result already. @throws Invalid naming the field, and NotFound for an unknown model */
async function orderOf(request: Request, services: Services): Promise<Ordered | { readonly found: Run }> {
  const { input, idempotency } = request;
  const { config, ...order } = toChatOrder(input);
  await refuseUnknownModel(input.model, request, services);
  const conversation = { messages: fromChat(input.messages), model: input.model };
  const { threadId, isKept, run, ...given } = await placeOf(request, conversation, threadIn(input.metadata), services);
  if (run) return { found: run };
  return {
    terms: { keptRequest: toKeptCompletion(digestOf(input), !isKept) },
    order: {
      ...order,
      ...given,
      config: {
        ...config,
        ...(threadId !== undefined && { thread_id: threadId }),
        ...(!isKept && unkept),
        // A caller with a key comes again for the same run.
        on_disconnect: isKept || idempotency.onceKey !== undefined ? 'continue' : 'cancel',
      },
    },
  };
}

/** The run of a completion: one that an earlier attempt at it has started, or a new one. `waits`: for its end, unless its caller may leave. */
async function begin(
  request: Request,
  waits: boolean,
  services: Services,
): Promise<Pick<StartReply, 'runId' | 'threadId' | 'status'> & Pick<AwaitedRun, 'end'>> {
  const { messages, metadata } = request.input;
  const place = () => ({ threadId: threadIn(metadata), pendingRunId: pendingIn(fromChat(messages))?.runId });
  const earlier = await earlierAttempt(request, place, services);
  if (earlier) return followed(earlier);
  const ordered = await orderOf(request, services);
  if ('found' in ordered) return followed(ordered.found);
  const { order, terms } = ordered;
  const cancels = order.config?.on_disconnect === 'cancel';
  const start = (threadId?: string) =>
    startRun(
      {
        ...request,
        input: threadId === undefined ? order : { ...order, config: { ...order.config, thread_id: threadId } },
      },
      {
        ...{ granularity: 'low', terms, onlyNewThread: threadId !== undefined },
        // A caller that disconnects meanwhile would not be seen to stop the run.
        awaitEndMs: cancels || !waits ? undefined : awaitEndMs,
      },
      services,
    ).catch((error: unknown) => {
      throw asSent(error, { messages: 'messages', inFunction: true });
    });
  const own = order.config?.thread_id === undefined ? threadOfConversation(request, services) : undefined;
  const started = await start(own).catch(async (error: unknown) => {
    if (own === undefined || !isConversationThere(error)) throw error;
    return (await runOfConversation(request, own, services)) ?? start();
  });
  if ('owner' in started) return followed(started);
  await noteStarted(request, { order, runId: started.runId }, services);
  return started;
}

/** A run that is there, whose end is read from the record. */
const followed = ({ runId, threadId, status }: Run) => ({ runId, threadId, status });

async function answered(request: Request, services: Services): Promise<string> {
  const { owner, call, at } = request;
  const { model } = request.input;
  const { runId, threadId, status, end } = await begin(request, true, services);
  const event = await endOfRun({ owner, call, runId, threadId, justStarted: isOpen(status), end }, services);
  const result = resultIn(event, addressesOf(request, services));
  if ('failure' in result) throw failed(result.failure);
  return JSON.stringify(toChatCompletion({ runId, model, at: at.getTime() }, result));
}

async function streamed(request: Request, services: Services): Promise<RunStream> {
  const { owner } = request;
  const { model, stream_options: options } = request.input;
  const countsUsage = options?.include_usage === true;
  const { runId, status } = await begin(request, false, services);
  return {
    follow: { owner, runId, after: 0, justStarted: isOpen(status) },
    call: request.call(streamMs),
    extras: framed({
      name: `chat ${String(countsUsage)} ${request.origin()}`,
      begin: (scope) => createChatFrames({ scope, model, countsUsage, addressOf: addressesOf(request, services) }),
      encode: (frames) => frames,
    }),
  };
}

export const chatRows = [createCompletion];
