import { setTimeout as delay } from 'node:timers/promises';
import { isOpen } from '@agent-workflow/protos/lists';
import { questionsIn } from '@agent-workflow/protos/task-status';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, RunStream, ThreadStream } from '../../../http/endpoint.ts';
import { dropQuestion } from '../../common/lost-question.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { a2aError } from '../replies/reasons.ts';
import { TaskParams } from '../schemas/common.ts';
import { CancelTask, GetTask, SubscribeToTask } from '../schemas/tasks.ts';
import { canceledResponse, inResponses, streamMs } from './followed.ts';
import { readTask, runsOfTask, type TaskRuns } from './read-task.ts';

const getTask = endpoint({
  name: 'a2aGetTask',
  method: 'GET',
  path: '/a2a/{agent}/tasks/{run_id}',
  access: { resource: 'checkpointer', action: 'read' },
  params: TaskParams,
  input: GetTask,
  handle: async (request, services) => {
    const { agent, run_id: taskId } = request.params;
    const runs = await runsOfTask(request, { taskId, agent }, services);
    return JSON.stringify(await readTask(request, runs, { historyLength: request.input.historyLength }, services));
  },
});

const cancelTask = endpoint({
  name: 'a2aCancelTask',
  method: 'POST',
  path: '/a2a/{agent}/tasks/{run_id}:cancel',
  access: { resource: 'graph', action: 'stop' },
  params: TaskParams,
  input: CancelTask,
  handle: async (request, services) => {
    const { agent, run_id: taskId } = request.params;
    const runs = await runsOfTask(request, { taskId, agent }, services);
    await endTask(request, runs, services);
    const ended = await runsOfTask(request, { taskId, agent }, services);
    if (lastOf(ended).status !== 'stopped') throw notCancelable(taskId);
    return JSON.stringify(await readTask(request, ended, {}, services));
  },
});

const notCancelable = (taskId: string) => a2aError('TASK_NOT_CANCELABLE', `task "${taskId}" has ended already`);

const lastOf = (runs: TaskRuns): Run => runs.at(-1) ?? runs[0];

/** Stops the run that a task is at, or drops the question that it waits with. @throws TaskNotCancelable */
async function endTask(
  { owner, call, idempotency, params }: EndpointRequest<{ readonly run_id: string }>,
  runs: TaskRuns,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<void> {
  const { runId, threadId, status, end } = lastOf(runs);
  if (isOpen(status)) {
    await execution.stopRun({ owner, runId, ...idempotency }, call());
    return;
  }
  if (status !== 'interrupted') throw notCancelable(params.run_id);
  if (questionsIn(end?.interruptsJson).length === 0)
    throw a2aError('TASK_NOT_CANCELABLE', 'the task waits for the results of tools, which another client has');
  const thread = await threads.getThread({ owner, threadId }, call());
  await dropQuestion({ ...thread, owner }, { call, idempotency }, { threads, execution });
}

const subscribeBy = (method: 'GET' | 'POST', name: string) =>
  endpoint({
    name,
    method,
    path: '/a2a/{agent}/tasks/{run_id}:subscribe',
    ...(method === 'POST' && { isRead: true }),
    answer: 'events',
    access: { resource: 'graph', action: 'stream' },
    params: TaskParams,
    input: SubscribeToTask,
    handle: async (request, services): Promise<ThreadStream> => {
      const { agent, run_id: taskId } = request.params;
      const runs = await runsOfTask(request, { taskId, agent }, services);
      const { status } = lastOf(runs);
      if (!isOpen(status) && status !== 'interrupted')
        throw a2aError('UNSUPPORTED_OPERATION', `task "${taskId}" has ended: read it`);
      return { runs: followed(request, lastOf(runs), services), ends: true };
    },
  });

/** The specification says POST in its text, and GET in its `a2a.proto`: clients are made from either. */
const subscribe = [subscribeBy('POST', 'a2aSubscribeToTask'), subscribeBy('GET', 'a2aSubscribeToTaskByGet')];

/** How often a task that waits for an answer is looked up, in milliseconds: soon at first, then less and less often. */
const pauseAfter = (idleMs: number): number => Math.min(2000, 200 + idleMs / 20);

type Subscribing = EndpointRequest<{ readonly agent: string; readonly run_id: string }>;

/** The runs of a task from this one on, each when it has begun, until the task has ended. */
async function* followed(request: Subscribing, first: Run, services: Services): AsyncGenerator<RunStream> {
  const { owner, params, rpc, origin } = request;
  const { agent, run_id: taskId } = params;
  const call = request.call(streamMs);
  const reading = { owner, call: (): typeof call => call };
  let run: Run | undefined = first;
  while (run) {
    const { runId } = run;
    const isFirst = run === first;
    const begun = isFirst ? { isFirst, stood: first } : { isFirst };
    const extras = inResponses({ owner, origin, runId, taskId, agent, rpc, ...begun }, services);
    yield { follow: { owner, runId, after: 0 }, call, extras };
    run = await nextOf(reading, { taskId, agent, runId }, services);
    if (run || call.signal.aborted) continue;
    const lost = lastOf(await runsOfTask(reading, { taskId, agent }, services));
    const asked = await services.threads.getRun({ owner, runId }, call);
    if (lost.status === 'stopped' && asked.status === 'interrupted')
      yield {
        follow: { owner, runId, after: 0 },
        call,
        extras: canceledResponse({ rpc, runId, taskId }, lost.updatedAt),
      };
  }
}

interface Asked {
  readonly taskId: string;
  readonly agent: string;
  readonly runId: string;
}

/** The run that goes on behind this one, once there is one; `undefined` where the task has ended. */
async function nextOf(
  request: Pick<Subscribing, 'owner' | 'call'>,
  { taskId, agent, runId }: Asked,
  services: Services,
): Promise<Run | undefined> {
  const began = performance.now();
  const { signal, deadline } = request.call();
  while (!signal.aborted && Date.now() < deadline) {
    const runs = await runsOfTask(request, { taskId, agent }, services);
    const at = runs.findIndex((run) => run.runId === runId);
    const next = runs[at + 1];
    if (next) return next;
    if (runs[at]?.status !== 'interrupted') return undefined;
    await delay(pauseAfter(performance.now() - began), undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

// The path of a task takes any id.
export const taskRows = [...subscribe, getTask, cancelTask];
