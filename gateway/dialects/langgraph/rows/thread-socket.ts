import { ServiceError } from '@agent-workflow/kit/errors';
import { refuseCostlyText } from '../../../http/json-guard.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { SocketReply, Talk } from '../../../http/talk.ts';
import { validator } from '../../../middleware/validate.ts';
import { ofKey } from '../../../api-keys/scopes.ts';
import { makeTicket } from '../../../tickets/index.ts';
import type { Services } from '../../common/services.ts';
import { runsOfThread } from '../live/thread-runs.ts';
import { readSubscription, type Subscription } from '../protocol/channels.ts';
import { threadSeq } from '../protocol/event-id.ts';
import { perEvent } from '../protocol/parts.ts';
import type { ProtocolFrame } from '../protocol/protocol-frame.ts';
import { createRunEvents } from '../protocol/run-events.ts';
import { Command, Subscribe, Unsubscribe, type CommandInput, type SubscribeInput } from '../schemas/streams.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { CommandRefusal, refusal, success, toCommandRefusal, type CommandResult } from './command-reply.ts';
import { commandRow } from './commands.ts';
import { createFramer } from '../../common/framed.ts';
import { createLateEnd, isFreshEnd, waitMs } from '../../common/late-end.ts';
import { refuseOtherAgent } from './other-agent.ts';
import { row } from './row.ts';
import { runCommand } from './run-command.ts';
import { runRecord } from './run-record.ts';
import { streamMs } from './streams.ts';
import { createSubscriptions, type Publish, type Subscriptions } from './subscriptions.ts';

const stream = { resource: 'graph', action: 'stream' } as const;

const checkCommand = validator(Command);
const checkSubscribe = validator(Subscribe);
const checkUnsubscribe = validator(Unsubscribe);

/** What is said on one connection. */
interface Talking {
  readonly request: EndpointRequest;
  readonly threadId: string;
  readonly talk: Talk;
  readonly subscriptions: Subscriptions;
  readonly services: Services;
}

/** Reads a text as a command. @throws CommandRefusal */
function readCommand(text: string): CommandInput {
  try {
    refuseCostlyText(text, 'the command');
    const command: unknown = JSON.parse(text);
    checkCommand(command, () => 'body');
    return command as CommandInput;
  } catch (error) {
    const refused = error instanceof SyntaxError ? undefined : toCommandRefusal(error);
    throw refused ?? new CommandRefusal('invalid_argument', 'a command is a JSON object with id, method and params');
  }
}

/** A longer text that is refused unread is not read for its id. In characters. */
const shortText = 16 * 1024;

/** Answers what comes, one after the other; events are sent beside. */
async function converse(talking: Talking): Promise<void> {
  const { talk } = talking;
  for await (const text of talk.texts) {
    let id: number | null = null;
    try {
      await talk.count().catch((error: unknown) => {
        if (text.length <= shortText) ({ id } = readCommand(text));
        throw error;
      });
      const command = readCommand(text);
      ({ id } = command);
      await talk.send(success(id, await answer(talking, command)));
    } catch (error) {
      await talk.send(refusal(id, toRefusal(error)));
    }
  }
}

/** Here a failure of the service has no status of HTTP: the command alone fails. */
function toRefusal(error: unknown): CommandRefusal {
  const known = toCommandRefusal(error);
  if (known) return known;
  const message = error instanceof ServiceError ? error.message : 'the service failed';
  return new CommandRefusal('unknown_error', message);
}

async function answer(talking: Talking, command: CommandInput): Promise<CommandResult> {
  const { request, threadId, subscriptions, services } = talking;
  const { method, params = {} } = command;
  switch (method) {
    case 'subscription.subscribe': {
      checkSubscribe(params, () => 'body');
      const subscription = readSubscription(params as SubscribeInput, ['params']);
      const id = subscriptions.add(subscription, (signal, send) => publish(talking, { subscription, signal, send }));
      return { result: { subscription_id: id, replayed_events: 0 } };
    }
    case 'subscription.unsubscribe': {
      checkUnsubscribe(params, () => 'body');
      const { subscription_id: id } = params as { readonly subscription_id: string };
      if (!subscriptions.remove(id)) throw new CommandRefusal('no_such_subscription', `there is no subscription ${id}`);
      return { result: {} };
    }
    case 'subscription.reconnect':
      // A connection keeps nothing of another: its client subscribes again, and leaves out what it has.
      return { result: { restored: false } };
    default: {
      const { owner, user } = request;
      const principal = { owner, ...(user && { user }) };
      const agent = await services.authorizeRun(principal, commandRow, command, { thread_id: threadId });
      const one = { ...request, ...(agent !== undefined && { agent }), at: new Date() };
      return runCommand(one, { threadId, command }, services);
    }
  }
}

interface Publishing {
  readonly subscription: Subscription;
  readonly signal: AbortSignal;
  readonly send: Parameters<Publish>[1];
}

/** Sends the events of a thread that a subscription asks for, until it ends. */
async function publish(
  { request, threadId, services }: Talking,
  { subscription, signal, send }: Publishing,
): Promise<void> {
  const { owner, call: begin } = request;
  const call = { ...begin(streamMs), signal };
  const watched = { owner, threadId, start: 'kept', call, newCall: begin } as const;
  for await (const { runId, ordinal, agent } of runsOfThread(watched, services)) {
    await refuseOtherAgent(request, { threadId, agent }, services);
    const toFrames = createFramer<ProtocolFrame>((scope, of) => {
      const record = runRecord({ owner, agent, call: of, runId, threadId }, services);
      return createRunEvents({ subscription, scope, ordinal, graphId: agent, record });
    }, call);
    const openedAt = Date.now();
    const lateEnd = createLateEnd(openedAt);
    for await (const { events, scope } of services.execution.follow({ owner, runId, after: 0 }, call))
      for (const event of events) {
        if (subscription.channels.has('lifecycle')) await waitMs(lateEnd(event), signal);
        const seq = threadSeq(ordinal, event.seq, perEvent - 1);
        await send({ frames: await toFrames(event, scope), seq, isEnd: isFreshEnd(event, openedAt) });
      }
  }
}

const threadSocket = row({
  name: 'lgThreadSocket',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/stream/events',
  answer: 'socket',
  access: stream,
  params: ThreadParams,
  takesTicket: true,
  mayBeAhead: true,
  handle: (request, services): Promise<SocketReply> =>
    Promise.resolve({
      talk: async (talk) => {
        const subscriptions = createSubscriptions(talk);
        const { thread_id: threadId } = request.params;
        await subscriptions.beside(converse({ request, threadId, talk, subscriptions, services }));
      },
    }),
});

/** For the WebSocket of a browser, which sends no headers. */
const makeThreadTicket = row({
  name: 'lgMakeThreadTicket',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/ticket',
  access: stream,
  secret: true,
  mayBeAhead: true,
  params: ThreadParams,
  handle: async ({ owner, user, params, expiresAt: until }, { tickets }) => {
    const about = { owner, threadId: params.thread_id, ...ofKey(user) };
    const grant = { ...about, ...(user && { user }), ...(until !== undefined && { until }) };
    const { text, expiresAt } = await makeTicket(tickets, grant);
    return JSON.stringify({ ticket: text, expires_at: new Date(expiresAt).toISOString() });
  },
});

export const threadSocketRows = [threadSocket, makeThreadTicket];
