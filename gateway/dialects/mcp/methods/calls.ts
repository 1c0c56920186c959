import { fromUnknown, isServiceError } from '@agent-workflow/kit/errors';
import type { StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import type { ThreadStream } from '../../../http/endpoint.ts';
import { messageKeyed } from '../../../idempotency/index.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { answersHere } from '../../common/questions.ts';
import { hasLostQuestion } from '../../common/lost-question.ts';
import type { Services } from '../../common/services.ts';
import { askedOfTool, digestOf, type Asked } from '../calls/asked.ts';
import { followCall, resultOfCall } from '../calls/follow-call.ts';
import { keptCall, keptOf } from '../calls/kept-call.ts';
import { shownResult, toolError, toOutcome } from '../calls/outcome.ts';
import { runEndOf } from '../calls/run-end.ts';
import {
  answersIn,
  inputRequired,
  questionsIn,
  toInputRequests,
  undeclared,
  type Question,
} from '../calls/questions.ts';
import { stopOnLeave } from '../calls/stop-on-leave.ts';
import { answerCall, startCall, type Starting } from '../calls/start-call.ts';
import { findOffer, offersOf } from '../offers/offers.ts';
import { checkArgumentHeaders, takesJsonAlone, tasksExtension } from '../wire/client.ts';
import { fieldsOf, isObject, textIn, type Fields } from '../wire/fields.ts';
import { invalidParams, isOfParams, missingCapability, RpcError, rpcCodes } from '../wire/rpc-error.ts';
import { listOffered } from './lists.ts';
import { memoryTools } from './memory-tools.ts';
import { authorize, invoking, type McpRequest, type Method } from './method.ts';
import { toTask } from './task.ts';

/** So long a call is waited for before it becomes a task, or a stream, in milliseconds. */
const soonMs = 200;

export const listTools: Method = async (asked, services) => {
  const { tools } = await offersOf(services.execution, asked.request.call);
  const listed = await listOffered('tools', [...tools.values()], asked, services);
  if ('nextCursor' in listed) return listed;
  const ofMemory = memoryTools(services).filter(({ shown }) => !tools.has(String(shown['name'])));
  return { ...listed, tools: [...(listed['tools'] as readonly Fields[]), ...ofMemory.map(({ shown }) => shown)] };
};

export const callTool: Method = async (given, services) => {
  const { request, client, params } = given;
  const name = textIn(params['name']) ?? '';
  const { tools } = await offersOf(services.execution, request.call);
  const ofMemory = tools.has(name) ? undefined : memoryTools(services).find(({ shown }) => shown['name'] === name);
  if (ofMemory) return ofMemory.call(request, fieldsOf(params['arguments']), services);
  const tool = await findOffer(services.execution, request.call, (offers) => offers.tools.get(name));
  if (!tool) throw invalidParams(`there is no tool "${name.slice(0, 128)}"`);
  if (params['arguments'] !== undefined && !isObject(params['arguments']))
    throw invalidParams('arguments must be an object');
  const asked = askedOfTool(tool, fieldsOf(params['arguments']));
  if (client.isModern) checkArgumentHeaders(request, fieldsOf(tool.shown['inputSchema']), asked.arguments);
  const missing = tool.needs.filter((need) => !client.can.has(need));
  if (missing.length > 0) {
    const needed = Object.fromEntries(missing.map((need) => [need, {}]));
    if (client.isModern) throw missingCapability(needed);
    return toolError(`this tool needs a client with ${missing.join(', ')}`);
  }
  if (tool.task === 'required' && !client.knowsTasks) {
    if (client.isModern) throw missingCapability({ extensions: { [tasksExtension]: {} } });
    return toolError('this tool needs a client that knows tasks');
  }
  try {
    if (!client.knowsTasks || tool.task === false) return await runCall(asked, given, services);
    return await callAsTask(asked, given, { inputFirst: tool.inputFirst }, services);
  } catch (error) {
    // A model reads what is wrong with the arguments that it has given, and tries again: it sees no error of the protocol.
    const known = fromUnknown(error);
    if (known instanceof RpcError || !isOfParams(known)) throw error;
    return toolError(known.message);
  }
};

/** A call whose client knows tasks: its result where it is there soon, else the task. */
async function callAsTask(
  asked: Asked,
  given: McpRequest,
  { inputFirst }: { readonly inputFirst: boolean },
  services: Services,
): Promise<Fields> {
  const { client, params } = given;
  const { owner, roles, call } = given.request;
  const isHere = (one: Question): boolean =>
    answersHere(services.access, { owner, roles }, { ...one, agent: asked.agent });
  const starting = { request: await startingOf(asked, given, services), awaitEndMs: soonMs };
  const state = params['requestState'];
  let started: Pick<StartReply, 'runId' | 'threadId' | 'end'>;
  if (state === undefined)
    started = await startCall(asked, client, { ...starting, request: leavable(starting.request, services) }, services);
  else {
    const { run, takesReplies } = await askingRun(asked, textIn(state) ?? '', given, services);
    const requests = toInputRequests(questionsIn(run.end?.interruptsJson));
    const answers = takesReplies ? answersIn(requests, fieldsOf(params['inputResponses'])) : {};
    const isAnswered = Object.keys(answers).length > 0;
    const own = new Map([...requests].filter(([one]) => isHere(one)));
    if (own.size > 0 && !isAnswered) return inputRequired(own, run.runId);
    started = isAnswered
      ? await answerCall(run, answers, keptOf(asked, client), starting, services)
      : { runId: run.runId, threadId: run.threadId };
  }
  given.request.releaseInput();
  // The answer of a task is known by what it answers.
  if (state === undefined) await given.request.markAccepted();
  const { runId, threadId, end } = started;
  const read = end && runEndOf(end);
  const own = read?.kind === 'asks' ? read.questions.filter(isHere) : [];
  if (own.length > 0 && inputFirst) {
    const requests = toInputRequests(own);
    const missing = undeclared(requests, client);
    if (missing.length > 0) throw missingCapability(Object.fromEntries(missing.map((need) => [need, {}])));
    return inputRequired(requests, runId);
  }
  if (read && read.kind !== 'asks') {
    const outcome = toOutcome(read, { asked, runId, threadId, addressOf: addressesOf(given.request, services) });
    if ('result' in outcome) return outcome.result;
  }
  return { resultType: 'task', ...(await toTask({ owner, roles, taskId: runId, call }, services)).task };
}

/** The request for a run that is stopped where its client leaves before the reply: without a key it would not learn the id of its task. */
function leavable(request: Starting, services: Services): Starting {
  if (request.idempotency.onceKey !== undefined) return request;
  const runId = request.newId('run');
  stopOnLeave(request, () => runId, services);
  return { ...request, newId: (what) => (what === 'run' ? runId : request.newId(what)) };
}

/**
 * Runs what a client asks of an agent, and gives its result where that is there soon and nothing else is to be read of the run, or the client takes no
 * stream; else the messages up to the reply. With `requestState` it goes on where the agent has asked.
 * @throws RpcError
 */
export async function runCall(asked: Asked, given: McpRequest, services: Services): Promise<Fields | ThreadStream> {
  const { client, id, params } = given;
  const request = await startingOf(asked, given, services);
  const state = params['requestState'];
  const meta = fieldsOf(params['_meta']);
  const following = {
    ...{ request, client, id, progressToken: meta['progressToken'], call: keptOf(asked, client) },
    replies: fieldsOf(params['inputResponses']),
  };
  if (client.isModern && state !== undefined) {
    const { run, takesReplies } = await askingRun(asked, textIn(state) ?? '', given, services);
    given.request.releaseInput();
    const { runId, threadId } = run;
    const answering = { ...following, ...(!takesReplies && { replies: {} }) };
    if (takesJsonAlone(request)) return resultOfCall(answering, { runId, threadId, justStarted: false }, services);
    return followCall(answering, { runId, after: 0, justStarted: false }, services);
  }
  // A client with a token reads of each step at once, and one whose stream begins with an id may go on behind that from then on.
  const waits = takesJsonAlone(request) || (following.progressToken === undefined && !client.takesFirstId);
  const started = await startCall(
    asked,
    client,
    waits ? { request: client.isModern ? leavable(request, services) : request, awaitEndMs: soonMs } : { request },
    services,
  );
  const { runId, threadId, status } = started;
  if (started.existed) await checkSameCall(asked, { request: given.request, client, runId }, services);
  given.request.releaseInput();
  await given.request.markAccepted();
  const result = waits ? soonResult(started, { asked, client, request: given.request }, services) : undefined;
  if (result) return result;
  if (takesJsonAlone(request))
    return resultOfCall(following, { runId, threadId, justStarted: isOpen(status) }, services);
  return followCall(following, { runId, after: 0, justStarted: isOpen(status) }, services);
}

/** The result of a run that has ended; `undefined` where it asks or fails, or may have reported what its client is to read before. */
function soonResult(
  { runId, threadId, end, isSilent }: StartReply,
  { asked, client, request }: Pick<McpRequest, 'client' | 'request'> & { readonly asked: Asked },
  services: Services,
): Fields | undefined {
  if (!end || (client.logLevel !== undefined && !isSilent)) return undefined;
  const read = runEndOf(end);
  if (read.kind === 'asks') return undefined;
  const outcome = toOutcome(read, { asked, runId, threadId, addressOf: addressesOf(request, services) });
  return 'result' in outcome ? shownResult(outcome.result, asked, client) : undefined;
}

/** The run from which a call goes on, and whether replies of its client are to what that run has asked. */
interface Asking {
  readonly run: Run;
  readonly takesReplies: boolean;
}

/**
 * The run that has asked, or the one that has its answers already: replies were not to the questions of that one. The record says for which call it was:
 * a state that is another's, that of another call, or one whose question was given up is refused. @throws RpcError, PermissionDenied
 */
async function askingRun(
  asked: Asked,
  runId: string,
  { request }: McpRequest,
  services: Pick<Services, 'threads' | 'authorizeRun'>,
): Promise<Asking> {
  const { owner, call } = request;
  const { threads } = services;
  const refused = () => invalidParams('requestState is none that this call was given');
  const run = await threads.getRun({ owner, runId }, call()).catch((error: unknown) => {
    throw isServiceError(error, 'NotFound') || isServiceError(error, 'Invalid') ? refused() : error;
  });
  const kept = await keptCall(run, threads, call());
  if (run.agent !== asked.agent || kept.digest !== digestOf(asked)) throw refused();
  await authorize(request, invoking, { run_id: run.runId }, services);
  if (run.resumedBy !== undefined)
    return { run: await threads.getRun({ owner, runId: run.resumedBy }, call()), takesReplies: false };
  if (run.status === 'interrupted') {
    const thread = await threads.getThread({ owner, threadId: run.threadId }, call());
    if (thread.runId === run.runId && hasLostQuestion(run, thread))
      throw invalidParams('what requestState names was cancelled');
  }
  return { run, takesReplies: true };
}

/** The id of a request of a session names one call: the run of another is not its reply. @throws RpcError */
async function checkSameCall(
  asked: Asked,
  { request, client, runId }: Pick<McpRequest, 'request' | 'client'> & { readonly runId: string },
  { threads }: Pick<Services, 'threads'>,
): Promise<void> {
  const { owner, call, idempotency } = request;
  if (client.session === undefined || idempotency.onceKey !== undefined) return;
  const { digest } = await keptCall({ owner, runId, agent: asked.agent }, threads, call());
  if (digest !== digestOf(asked))
    throw new RpcError(rpcCodes.invalidRequest, 'the id of this request was used in this session for another call');
}

/** The request for a run, with the agent for which it was allowed. */
async function startingOf(asked: Asked, { request, client, id }: McpRequest, services: Services): Promise<Starting> {
  const threadId = asked.isAgent ? textIn(asked.arguments['thread_id']) : undefined;
  const about = { agent: asked.agent, ...(threadId !== undefined && { thread_id: threadId }) };
  const agent = await authorize(request, invoking, about, services);
  const own = client.session === undefined ? undefined : requestIds(request.owner, client.session, id);
  return { ...request, agent, ...(own && request.idempotency.onceKey === undefined && own) };
}

/** The ids of what a request of a session makes: so any replica finds its run, to cancel it. */
export function requestIds(
  owner: string,
  session: string,
  id: string | number,
): Pick<Starting, 'newId' | 'idempotency'> {
  const texts = ['mcp request', session, JSON.stringify(id)];
  const { newId, idempotency } = messageKeyed({ owner, newId: unkeyed, idempotency: {} }, texts);
  return { newId, idempotency };
}

/** Is replaced with the ids of the key. */
const unkeyed = (what: string): string => what;
