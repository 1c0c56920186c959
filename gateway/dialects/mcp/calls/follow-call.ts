import { setTimeout as delay } from 'node:timers/promises';
import { fromUnknown, ServiceError } from '@agent-workflow/kit/errors';
import { waitsForText } from '@agent-workflow/protos/addressed';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { RunStream, ThreadStream } from '../../../http/endpoint.ts';
import { answersHere } from '../../common/questions.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { framed } from '../../common/framed.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import type { Askable, Client } from '../wire/client.ts';
import { fieldsOf, isObject, type Fields } from '../wire/fields.ts';
import { errorBody, invalidParams, missingCapability, RpcError } from '../wire/rpc-error.ts';
import { toReply } from '../wire/reply.ts';
import type { KeptCall } from './kept-call.ts';
import { createNotifications } from './notifications.ts';
import { answersIn, inputRequired, shownRequests, toInputRequests, undeclared, type Question } from './questions.ts';
import { runEndOf } from './run-end.ts';
import { answerCall, type Starting } from './start-call.ts';
import { stopOnLeave } from './stop-on-leave.ts';
import { shownResult, toOutcome, toolError } from './outcome.ts';
import { toEventId, toQuestionId } from './stream-ids.ts';

/** The longest stream, one day, in milliseconds. */
const streamMs = 24 * 60 * 60 * 1000;

/** How often an answer is looked for that comes by another request, in milliseconds: first, and at most. */
const [firstPollMs, mostPollMs] = [50, 1000];

/** A call that is followed to its reply. */
interface Following {
  readonly request: Starting;
  readonly client: Client;
  /** Of the request to which the reply is. */
  readonly id: string | number;
  readonly progressToken: unknown;
  readonly call: KeptCall;
  /** Replies to questions that came with the request, by key. */
  readonly replies: Fields;
}

interface Place {
  readonly runId: string;
  /** The number of the last event that the reader has. */
  readonly after: number;
  readonly justStarted: boolean;
}

/** Finds the run that goes on with a call; `undefined` where none does. */
type Next = () => Promise<string | undefined>;

/**
 * The messages of a call up to its reply: those of its run, and of each run that answers what the one before it has asked. With its first run at
 * `place`.
 */
export function followCall(following: Following, place: Place, services: Services): ThreadStream {
  const current = { runId: place.runId };
  const { request, client } = following;
  // Clients of the version without a handshake have no other way to cancel. Who has a key comes again.
  if (client.isModern && request.idempotency.onceKey === undefined) stopOnLeave(request, () => current.runId, services);
  return { runs: runsOf(following, { current, place }, services), ends: true };
}

/** The result of a call whose client takes no stream: it reads nothing of a run but its end, and takes no question within. @throws RpcError */
export async function resultOfCall(
  given: Following,
  place: Omit<Place, 'after'> & { readonly threadId: string },
  services: Services,
): Promise<Fields> {
  const { request, client } = given;
  const { threadId } = place;
  const following = { ...given, client: client.isModern ? client : { ...client, can: new Set<Askable>() } };
  const replies = { ...given.replies };
  let { runId, justStarted } = place;
  for (;;) {
    const step: Step = { seq: 0 };
    const all = { following, runId, scope: { threadId }, replies, notify: () => [], step };
    const end = await endOfRun({ ...request, runId, threadId, justStarted }, services);
    const [message] = await createMessages(all, services)(end);
    if (message) return resultIn(message);
    runId = (await step.next?.()) ?? runId;
    justStarted = true;
  }
}

function resultIn({ result, error }: Fields): Fields {
  if (isObject(result)) return result;
  const { code, message, data } = fieldsOf(error);
  throw new RpcError(Number(code), String(message), isObject(data) ? { data } : {});
}

async function* runsOf(
  following: Following,
  { current, place }: { readonly current: { runId: string }; readonly place: Place },
  services: Services,
): AsyncGenerator<RunStream> {
  const { client, request } = following;
  const { owner, call } = request;
  const replies = { ...following.replies };
  const notify = createNotifications({
    progressToken: following.progressToken,
    logLevel: following.client.logLevel,
  });
  let { after, justStarted } = place;
  for (;;) {
    const { runId } = current;
    const step: Step = { seq: 0 };
    yield {
      follow: { owner, runId, after, justStarted },
      call: call(streamMs),
      extras: framed<Fields>({
        name: `mcp ${crypto.randomUUID()}`,
        begin: (scope) => {
          const toMessages = createMessages({ following, runId, scope, replies, notify, step }, services);
          return (event) => {
            step.seq = event.seq;
            return toMessages(event);
          };
        },
        encode: (messages, { seq }) => encodeMessages(messages, toEventId(following, { runId, seq })),
      }),
    };
    const next = await step.next?.().catch(refusalIn);
    if (next instanceof ServiceError) {
      // Its last event once more, which stands for the reply now.
      const reply = toReply(following.id, failed(following, next), client);
      const extras = framed<Fields>({
        name: `mcp ${crypto.randomUUID()}`,
        begin: () => () => Promise.resolve([reply]),
        encode: (messages) => encodeMessages(messages, undefined),
      });
      yield { follow: { owner, runId, after: step.seq - 1, justStarted: false }, call: call(streamMs), extras };
      return;
    }
    if (next === undefined) return;
    current.runId = next;
    after = 0;
    justStarted = false;
  }
}

/** What comes behind a run. */
interface Step {
  next?: Next;
  /** The number of the last event that was read. */
  seq: number;
}

/** An error that ends a call with a reply. @throws any other */
function refusalIn(error: unknown): ServiceError {
  const known = fromUnknown(error);
  if (!['BadRequest', 'Invalid', 'Conflict'].includes(known.code)) throw error;
  return known;
}

const failed = ({ call: { asked } }: Following, { message }: ServiceError) =>
  asked.method === 'tools/call' ? { result: toolError(message) } : { error: errorBody(invalidParams(message)) };

interface Messages {
  readonly following: Following;
  readonly runId: string;
  readonly scope: Pick<RunScope, 'threadId'>;
  readonly replies: Record<string, unknown>;
  /** Of all runs of the call: progress only grows. */
  readonly notify: (event: RunEvent) => readonly Fields[];
  readonly step: Step;
}

function createMessages(
  { following, runId, scope: { threadId }, replies, notify, step }: Messages,
  services: Services,
): (event: RunEvent) => Promise<readonly Fields[]> {
  const { client, id, call, request } = following;
  const answered = (answers: Readonly<Record<string, unknown>>): void => {
    // A question that is asked again has no answer yet.
    for (const key of Object.keys(replies)) Reflect.deleteProperty(replies, key);
    step.next = async () => (await answerCall({ runId, threadId }, answers, call, { request }, services)).runId;
  };

  const isHere = (one: Question): boolean => answersHere(services.access, request, { ...one, agent: call.asked.agent });

  const question = (questions: readonly Question[]): readonly Fields[] => {
    const requests = toInputRequests(questions.filter(isHere));
    if (questions.length > 0 && requests.size === 0)
      return [toReply(id, { result: toolError(ofOthers(questions, runId)) }, client)];
    if (!call.isWhole)
      return [toReply(id, { result: toolError('the arguments are too large for a call that asks') }, client)];
    const answers = answersIn(requests, replies);
    if (Object.keys(answers).length > 0) {
      answered(answers);
      return [];
    }
    const missing = undeclared(requests, client);
    if (client.isModern) {
      if (missing.length > 0) return [toReply(id, { error: errorBody(missingCapability(needed(missing))) }, client)];
      return [toReply(id, { result: inputRequired(requests, runId) }, client)];
    }
    if (missing.length > 0) return [toReply(id, { result: toolError(unasked(requests)) }, client)];
    const [first] = requests;
    if (!first) return [];
    step.next = () => answeredRun({ request, runId, threadId }, services);
    const [question, { method, params }] = first;
    return [{ jsonrpc: '2.0', id: toQuestionId(runId, question.id), method, params }];
  };

  return (event) => {
    if (event.kind === 'metadata') return Promise.resolve(client.takesFirstId ? [firstId] : []);
    if (event.kind !== 'on_chain_end' && event.kind !== 'error') return Promise.resolve(notify(event));
    const end = runEndOf(event);
    if (end.kind === 'asks') return Promise.resolve(question(end.questions));
    const outcome = toOutcome(end, { asked: call.asked, runId, threadId, addressOf: addressesOf(request, services) });
    const shown = 'result' in outcome ? { result: shownResult(outcome.result, call.asked, client) } : outcome;
    return Promise.resolve([toReply(id, shown, client)]);
  };
}

const needed = (names: readonly string[]): Fields => Object.fromEntries(names.map((name) => [name, {}]));

/** What a client reads whose caller may not answer. */
const ofOthers = (questions: readonly Question[], runId: string): string => {
  const whom = waitsForText([...new Set(questions.flatMap(({ to = [] }) => to))]);
  const values = JSON.stringify(questions.map(({ value }) => value));
  return `the agent has asked others, and goes on when they have answered: run "${runId}" ${whom}: ${values}`;
};

/** What a client reads that takes no questions: a model may answer in the thread. */
const unasked = (requests: ReturnType<typeof toInputRequests>): string =>
  `the agent asks, and this client takes no questions: ${JSON.stringify(Object.values(shownRequests(requests)))}`;

/** Waits for the run that answers another, which any replica may have started; `undefined` where the questions were given up. */
async function answeredRun(
  {
    request: { owner, call },
    runId,
    threadId,
  }: Pick<Messages, 'runId'> & {
    readonly request: Starting;
    readonly threadId: string;
  },
  { threads }: Pick<Services, 'threads'>,
): Promise<string | undefined> {
  const { signal, deadline } = call(streamMs);
  for (let ms = firstPollMs; Date.now() < deadline; ms = Math.min(2 * ms, mostPollMs)) {
    await delay(ms, undefined, { signal });
    const thread = await threads.getThread({ owner, threadId }, call());
    if (thread.runId === runId && thread.waitsFor === 'answer') continue;
    const run = await threads.getRun({ owner, runId }, call());
    if (run.resumedBy !== undefined) return run.resumedBy;
    if (thread.runId === runId) return undefined;
    throw invalidParams('the thread went on without an answer to what was asked');
  }
  return undefined;
}

/** Stands for an event that has an id and no message: the stream can go on from its beginning. */
const firstId: Fields = {};

/** After so many milliseconds a client goes on with a stream that was cut. */
const retryMs = 1000;

/** Messages as server-sent events. The id stands with the last of one event of the run: a reader goes on behind it. */
const encodeMessages = (messages: readonly Fields[], eventId: string | undefined): readonly Uint8Array[] =>
  messages.map((message, index) => {
    const id = eventId !== undefined && index === messages.length - 1 ? `id: ${eventId}\n` : '';
    const text = message === firstId ? `retry: ${String(retryMs)}\ndata: ` : `data: ${JSON.stringify(message)}`;
    return Buffer.from(`${id}${text}\n\n`);
  });
