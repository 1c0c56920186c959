import { isServiceError } from '@agent-workflow/kit/errors';
import { isOpen } from '@agent-workflow/protos/lists';
import type { ThreadStream } from '../../../http/endpoint.ts';
import { idMaker } from '../../../idempotency/index.ts';
import type { Services } from '../../common/services.ts';
import { askedOfTool, type Asked } from '../calls/asked.ts';
import { followCall } from '../calls/follow-call.ts';
import { keptCall, keptOf } from '../calls/kept-call.ts';
import { toolError, toOutcome } from '../calls/outcome.ts';
import { runEndOf } from '../calls/run-end.ts';
import { startCall, type Starting } from '../calls/start-call.ts';
import { offersOf } from '../offers/offers.ts';
import { fieldsOf, isObject, textIn, type Fields } from '../wire/fields.ts';
import { digestOf } from '../calls/asked.ts';
import { invalidParams, missingCapability } from '../wire/rpc-error.ts';
import { listOffered } from './lists.ts';
import { authorize, invoking, type McpRequest, type Method } from './method.ts';
import { toTask } from './task.ts';

/** So long a call is waited for before it becomes a task, in milliseconds. */
const taskAfterMs = 200;

export const listTools: Method = async (asked, services) => {
  const { tools } = await offersOf(services.execution, asked.request.call);
  return listOffered('tools', [...tools.values()], asked, services);
};

export const callTool: Method = async (given, services) => {
  const { request, client, params } = given;
  const { tools } = await offersOf(services.execution, request.call);
  const tool = tools.get(textIn(params['name']) ?? '');
  if (!tool) throw invalidParams(`there is no tool "${String(params['name']).slice(0, 128)}"`);
  if (params['arguments'] !== undefined && !isObject(params['arguments']))
    throw invalidParams('arguments must be an object');
  const asked = askedOfTool(tool, fieldsOf(params['arguments']));
  const missing = tool.needs.filter((need) => !client.can.has(need));
  if (missing.length > 0) {
    const needed = Object.fromEntries(missing.map((need) => [need, {}]));
    if (client.isModern) throw missingCapability(needed);
    return toolError(`this tool needs a client with ${missing.join(', ')}`);
  }
  if (!client.knowsTasks || !tool.mayBeTask) return runCall(asked, given, services);
  return callAsTask(asked, given, services);
};

/** A call whose client knows tasks: its result where it is there soon, else the task. */
async function callAsTask(asked: Asked, given: McpRequest, services: Services): Promise<Fields> {
  const { client } = given;
  const request = await startingOf(asked, given, services);
  const started = await startCall(asked, client, { request, awaitEndMs: taskAfterMs }, services);
  given.request.releaseInput();
  await given.request.markAccepted();
  const { runId, threadId, end } = started;
  if (end) {
    const read = runEndOf(end);
    const outcome = read.kind === 'asks' ? undefined : toOutcome(read, { asked, runId, threadId });
    if (outcome && 'result' in outcome) return outcome.result;
  }
  const { owner, call } = given.request;
  return { resultType: 'task', ...(await toTask({ owner, taskId: runId, call }, services)).task };
}

/**
 * Runs what a client asks of an agent, and gives the messages up to the reply. With `requestState` it goes on where the agent has asked.
 * @throws RpcError
 */
export async function runCall(asked: Asked, given: McpRequest, services: Services): Promise<ThreadStream> {
  const { client, id, params } = given;
  const request = await startingOf(asked, given, services);
  const state = params['requestState'];
  const meta = fieldsOf(params['_meta']);
  const following = {
    ...{ request, client, id, progressToken: meta['progressToken'], call: keptOf(asked, client) },
    replies: fieldsOf(params['inputResponses']),
  };
  if (client.isModern && state !== undefined) {
    const runId = await askingRun(asked, textIn(state) ?? '', given, services);
    given.request.releaseInput();
    return followCall(following, { runId, after: 0, justStarted: false }, services);
  }
  const { runId, status } = await startCall(asked, client, { request }, services);
  given.request.releaseInput();
  await given.request.markAccepted();
  return followCall(following, { runId, after: 0, justStarted: isOpen(status) }, services);
}

/** The run that has asked. The record says for which call it was: a state that is another's, or that of another call, is refused. @throws RpcError */
async function askingRun(
  asked: Asked,
  runId: string,
  { request: { owner, call } }: McpRequest,
  { threads }: Pick<Services, 'threads'>,
): Promise<string> {
  const refused = () => invalidParams('requestState is none that this call was given');
  const run = await threads.getRun({ owner, runId }, call()).catch((error: unknown) => {
    throw isServiceError(error, 'NotFound') || isServiceError(error, 'Invalid') ? refused() : error;
  });
  const kept = await keptCall(run, threads, call());
  if (run.agent !== asked.agent || kept.digest !== digestOf(asked)) throw refused();
  // The same answers were sent before: the call goes on with what came of them.
  return run.resumedBy ?? runId;
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
  const key = JSON.stringify([owner, session, id]);
  return { newId: idMaker({ key }), idempotency: { onceKey: key } };
}
