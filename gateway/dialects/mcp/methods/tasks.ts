import { cancelRun } from '../calls/cancel-run.ts';
import { answerCall } from '../calls/start-call.ts';
import { answersIn } from '../calls/questions.ts';
import { tasksExtension } from '../wire/client.ts';
import { fieldsOf, isObject, textIn } from '../wire/fields.ts';
import { invalidParams, missingCapability } from '../wire/rpc-error.ts';
import type { Services } from '../../common/services.ts';
import { authorize, invoking, readingThreads, stopping, type McpRequest, type Method } from './method.ts';
import { detailedTask, toTask, type KnownTask } from './task.ts';

/** The task that a request names. @throws RpcError for a client that knows no tasks, and for what is no task */
async function taskIn(given: McpRequest, services: Services): Promise<KnownTask> {
  const { request, client, params } = given;
  if (!client.knowsTasks) throw missingCapability({ extensions: { [tasksExtension]: {} } });
  const taskId = textIn(params['taskId']);
  if (taskId === undefined) throw invalidParams('taskId is required');
  const { owner, roles, call } = request;
  return toTask({ owner, roles, taskId, call }, services);
}

export const getTask: Method = async (given, services) => {
  const known = await taskIn(given, services);
  await authorize(given.request, readingThreads, { run_id: known.first.runId }, services);
  return detailedTask(known, given.request, services);
};

/** So long the reply to some of several answers waits for the run that asks for the others, in milliseconds. */
const partialMs = 1000;

/** Answers what a task asks. What is left open is asked still. */
export const updateTask: Method = async (given, services) => {
  const { request, params } = given;
  const known = await taskIn(given, services);
  const { last, requests, call } = known;
  const agent = await authorize(request, invoking, { run_id: last.runId }, services);
  const { inputResponses } = params;
  if (!isObject(inputResponses)) throw invalidParams('inputResponses must be an object');
  const answers = answersIn(requests, fieldsOf(inputResponses));
  const misfits = [...requests.values()].find(
    ({ key, read }) => Object.hasOwn(inputResponses, key) && !read(inputResponses[key]),
  );
  if (misfits) throw invalidParams(`the response to "${misfits.key}" is not what was asked for`);
  if (Object.keys(answers).length === 0) return {};
  if (!call.isWhole) throw invalidParams('the arguments of this call were too large for an answer');
  // What is left open is asked by the run of the answer: the client reads the rest of its questions at once.
  const isPartial = Object.keys(answers).length < requests.size;
  const starting = { request: { ...request, agent }, ...(isPartial && { awaitEndMs: partialMs }) };
  await answerCall(last, answers, call, starting, services);
  return {};
};

/** Stops a task, or gives up what it asks. */
export const cancelTask: Method = async (given, services) => {
  const { last } = await taskIn(given, services);
  await authorize(given.request, stopping, { run_id: last.runId }, services);
  await cancelRun(last, given.request, services);
  return {};
};
