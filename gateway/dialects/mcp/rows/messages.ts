import { fromUnknown, isServiceError, undefinedIfNotFound, type ServiceError } from '@agent-workflow/kit/errors';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, ThreadStream } from '../../../http/endpoint.ts';
import { HttpRefusal } from '../../../http/http-refusal.ts';
import { invalidAt } from '../../../http/fields.ts';
import { hasLostQuestion } from '../../common/lost-question.ts';
import { runChain } from '../../common/run-chain.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { cancelRun } from '../calls/cancel-run.ts';
import { followCall } from '../calls/follow-call.ts';
import { keptCall } from '../calls/kept-call.ts';
import { answersIn, questionsIn, toInputRequests } from '../calls/questions.ts';
import { answerCall } from '../calls/start-call.ts';
import { fromEventId, fromQuestionId } from '../calls/stream-ids.ts';
import { requestIds } from '../methods/calls.ts';
import { authorize, invoking, readingThreads, stopping } from '../methods/method.ts';
import { handshakeMethods, modernMethods } from '../methods/table.ts';
import { RpcMessage } from '../schemas/message.ts';
import { handshakeClient, isModern, modernClient } from '../wire/client.ts';
import { fieldsOf, type Fields } from '../wire/fields.ts';
import { idIn, isReply, toReply } from '../wire/reply.ts';
import { errorBody, isOfParams, RpcError, rpcCodes } from '../wire/rpc-error.ts';

type Request = EndpointRequest<unknown, RpcMessage>;

/** The methods whose reply comes with the messages of a run. */
const streamed: ReadonlySet<unknown> = new Set(['tools/call', 'resources/read', 'prompts/get']);

/** One message of a client: a request, whose reply this gives, a notification, or the reply to a question. */
const send = endpoint({
  name: 'mcpSend',
  method: 'POST',
  path: '/mcp',
  answer: 'bare',
  startsRun: true,
  access: 'every caller',
  mayStream: ({ method }: RpcMessage) => streamed.has(method),
  mayStartRun: ({ method }: RpcMessage) => streamed.has(method),
  input: RpcMessage,
  handle: async (request, services) => {
    const { input } = request;
    const id = idIn(input.id);
    const fault = faultOf(input);
    if (fault !== undefined) return refused(request, id ?? null, new RpcError(rpcCodes.invalidRequest, fault, bad));
    if (typeof input.method === 'string' && id !== undefined) return reply(request, id, services);
    if (typeof input.method !== 'string' && !isReply(input))
      return refused(request, null, new RpcError(rpcCodes.invalidRequest, 'this is no message of JSON-RPC', bad));
    try {
      if (!isModern(request, '', fieldsOf(input.params))) handshakeClient(request);
    } catch (error) {
      return refused(request, null, toRpcError(fromUnknown(error)));
    }
    await (typeof input.method === 'string' ? notified(request, input.method, services) : answered(request, services));
    request.setReplyStatus(202);
    return '';
  },
});

const bad = { status: 400 };

/** The largest id and token of a request, in bytes: each event of its stream repeats them. */
const mostIdBytes = 256;

const isLong = (value: unknown): boolean => typeof value === 'string' && Buffer.byteLength(value) > mostIdBytes;

/** Why a message is none; `undefined` for one. */
function faultOf(input: RpcMessage): string | undefined {
  if (input.jsonrpc !== '2.0') return 'jsonrpc must be "2.0"';
  if (input.method === undefined) return undefined;
  if ('id' in input && idIn(input.id) === undefined) return 'id must be a text or an integer';
  const { progressToken } = fieldsOf(fieldsOf(input.params)['_meta']);
  if (isLong(input.id)) return `id must have at most ${String(mostIdBytes)} bytes`;
  return isLong(progressToken) ? `progressToken must have at most ${String(mostIdBytes)} bytes` : undefined;
}

/** The reply to a request: JSON, or the messages of a run up to it. */
async function reply(request: Request, id: string | number, services: Services): Promise<string | ThreadStream> {
  const method = String(request.input.method);
  const params = fieldsOf(request.input.params);
  try {
    const modern = isModern(request, method, params);
    const client = modern ? modernClient(request, method, params) : handshakeClient(request);
    const methods = modern ? modernMethods : handshakeMethods;
    const handle = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!handle)
      throw new RpcError(rpcCodes.methodNotFound, `there is no method "${method.slice(0, 64)}"`, {
        ...(modern && { status: 404 }),
      });
    const result = await handle({ request, client, id, params }, services);
    return isStream(result) ? result : JSON.stringify(toReply(id, { result }, client));
  } catch (error) {
    return refused(request, id, toRpcError(fromUnknown(error)));
  }
}

const isStream = (result: Fields | ThreadStream): result is ThreadStream =>
  'runs' in result && typeof result.runs === 'object' && result.runs !== null && Symbol.asyncIterator in result.runs;

/** @throws the error itself where its HTTP status says what is to be done */
function toRpcError(error: ServiceError): RpcError {
  if (error instanceof RpcError) return error;
  if (!isOfParams(error)) throw error;
  return new RpcError(rpcCodes.invalidParams, error.message);
}

function refused(request: Request, id: string | number | null, error: RpcError): string {
  request.setReplyStatus(error.status);
  return JSON.stringify({ jsonrpc: '2.0', id, error: errorBody(error) });
}

/** A request of the session is not waited for any more: its run is stopped. Any other notification changes nothing here. */
async function notified(request: Request, method: string, services: Services): Promise<void> {
  const { owner, header } = request;
  const session = header('mcp-session-id');
  const id = idIn(fieldsOf(request.input.params)['requestId']);
  if (method !== 'notifications/cancelled' || session === undefined || id === undefined) return;
  const last = await lastOf(request, requestIds(owner, session, id).newId('run'), services);
  if (!last) return;
  await authorize(request, stopping, { run_id: last.runId }, services);
  await cancelRun(last, request, services);
}

/** The last run of a chain; `undefined` where there is none. */
async function lastOf(
  { owner, call }: Request,
  runId: string,
  { threads }: Pick<Services, 'threads'>,
): Promise<Run | undefined> {
  let last: Run | undefined;
  try {
    for await (const run of runChain({ owner, runId, call }, threads)) last = run;
  } catch (error) {
    if (!isServiceError(error, 'NotFound')) throw error;
  }
  return last;
}

/** The reply to a question, which may reach any replica: the run goes on. A question that is not open any more has its answer. */
async function answered(request: Request, services: Services): Promise<void> {
  const { owner, call, input } = request;
  const { threads } = services;
  const asked = fromQuestionId(idIn(input.id) ?? '');
  const run = asked && (await undefinedIfNotFound(threads.getRun({ owner, runId: asked.runId }, call())));
  const questions = questionsIn(run?.end?.interruptsJson).filter(({ id }) => id === asked?.questionId);
  if (!run || questions.length === 0 || run.resumedBy !== undefined) return;
  if (hasLostQuestion(run, await threads.getThread({ owner, threadId: run.threadId }, call()))) return;
  const [{ key, read } = { key: '', read: () => undefined }] = toInputRequests(questions).values();
  const answers = answersIn(toInputRequests(questions), { [key]: read(input.result) ? input.result : givenUp });
  const agent = await authorize(request, invoking, { run_id: run.runId }, services);
  const kept = await keptCall(run, threads, call());
  // What does not fit a question that takes no such answer is the answer, too.
  const given =
    Object.keys(answers).length > 0 ? answers : Object.fromEntries(questions.map(({ id }) => [id, givenUp]));
  await answerCall(run, given, kept, { request: { ...request, agent } }, services).catch(undefinedIfAnswered);
}

function undefinedIfAnswered(error: unknown): undefined {
  if (error instanceof RpcError) return undefined;
  throw error;
}

/** The reply to a question that was given up. */
const givenUp = { action: 'cancel' };

/** Goes on with the stream of a call behind one of its events, on any replica. There is no other stream. */
const resume = endpoint({
  name: 'mcpResume',
  method: 'GET',
  path: '/mcp',
  answer: 'events',
  access: 'every caller',
  takesLastEventId: true,
  handle: async (request, services): Promise<ThreadStream> => {
    const { owner, call, lastEventId } = request;
    if (lastEventId === undefined) throw new HttpRefusal(405, 'a stream is that of a request, or goes on behind one');
    const place = fromEventId(lastEventId);
    if (!place) throw invalidAt(['header', 'Last-Event-ID'], 'must be the id of an event');
    const { runId, seq: after, id, progressToken } = place;
    const run = await services.threads.getRun({ owner, runId }, call());
    await authorize(request, readingThreads, { run_id: runId }, services);
    const kept = await keptCall(run, services.threads, call());
    return followCall(
      { request, client: handshakeClient(request), id, progressToken, call: kept, replies: {} },
      { runId, after, justStarted: false },
      services,
    );
  },
});

export const messageRows = [send, resume];
