import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Message } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import { dataOf } from '../../common/event-data.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { withoutLostQuestion } from '../../common/lost-question.ts';
import { runChain } from '../../common/run-chain.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { fromKept, type LongMessage } from '../in/kept-message.ts';
import { toParts } from '../messages/to-parts.ts';
import { shownState } from '../out/shown-state.ts';
import { toTask, type AskedBy, type Task, type TaskRun } from '../out/task.ts';
import { a2aError } from '../replies/reasons.ts';

type Reading = Pick<EndpointRequest, 'owner' | 'call'>;
type Calls = Pick<Services, 'threads' | 'execution' | 'config' | 'files'>;

/** What is needed to show a task: its files have addresses at the gateway that the caller has reached. */
type Showing = Reading & Pick<EndpointRequest, 'origin'>;

interface TaskKey {
  readonly taskId: string;
  readonly agent: string;
}

/** The runs of a task, in order. */
export type TaskRuns = readonly [Run, ...Run[]];

/** The runs of a task, at least one. @throws TaskNotFound, also for a run that another one was before */
export async function runsOfTask(
  { owner, call }: Reading,
  { taskId, agent }: TaskKey,
  { threads }: Pick<Services, 'threads'>,
): Promise<TaskRuns> {
  const runs: Run[] = [];
  try {
    for await (const run of runChain({ owner, runId: taskId, call }, threads)) {
      runs.push(run);
      if (runs.length > mostTurns)
        throw a2aError('UNSUPPORTED_OPERATION', `the task has more than ${String(mostTurns)} turns`);
    }
  } catch (error) {
    throw isServiceError(error, 'NotFound') ? noTask(taskId) : error;
  }
  const last = runs.pop();
  const [first, ...others] = last ? [...runs, await asItStands(last, { owner, call }, threads)] : [];
  if (first?.agent !== agent || (await runBefore(first, { owner, call }, threads))) throw noTask(taskId);
  return [first, ...others];
}

const noTask = (taskId: string) =>
  a2aError('TASK_NOT_FOUND', `there is no task "${taskId.slice(0, 256)}" of this agent`);

/** The run that a run answers, and whose task it is a part of; `undefined` for one that answers none. */
export async function runBefore(
  { runId, resumes }: Run,
  { owner, call }: Reading,
  threads: Pick<Services['threads'], 'getRun'>,
): Promise<Run | undefined> {
  if (resumes === undefined) return undefined;
  const asked = await undefinedIfNotFound(threads.getRun({ owner, runId: resumes }, call()));
  return asked?.resumedBy === runId ? asked : undefined;
}

/** A run as it stands: where its question was cancelled or passed over it counts as stopped. */
export async function asItStands(
  run: Run,
  { owner, call }: Reading,
  threads: Pick<Services['threads'], 'getThread'>,
): Promise<Run> {
  const { status, threadId } = run;
  if (status !== 'interrupted') return run;
  const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
  return thread ? withoutLostQuestion(run, thread) : run;
}

/** A task may be asked and answered so often. */
const mostTurns = 1000;

interface Shown {
  readonly historyLength?: number | undefined;
  /** Of which runs artifacts are shown: of those before the last one, or of all, unless it says otherwise. */
  readonly output?: 'all' | 'before' | 'none';
}

/** A task as it stands. */
export async function readTask(
  request: Showing,
  runs: TaskRuns,
  { historyLength, output = 'all' }: Shown,
  services: Calls,
): Promise<Task> {
  const [first] = runs;
  const known = historyLength === 0 ? runs.map((run) => ({ run })) : await withRequests(request, runs, services);
  const shown = output === 'all' ? known.length : output === 'before' ? known.length - 1 : 0;
  const read: TaskRun[] = [];
  for (let start = 0; start < known.length; start += outputsAtOnce) {
    const some = known.slice(start, start + outputsAtOnce);
    const outputs = some.map(async (each, index) =>
      start + index < shown ? withOutput(request, each, services) : each,
    );
    read.push(...(await Promise.all(outputs)));
  }
  return toTask({
    taskId: first.runId,
    contextId: first.threadId,
    runs: read,
    historyLength,
    addressOf: addressesOf(request, services),
  });
}

/** A run of a task, as the record has it. */
interface ReadRun extends TaskRun {
  readonly run: Run;
}

/** Runs whose messages are read at the same time. */
const outputsAtOnce = 8;

/** Requests that are read at a time. */
const atOnce = 100;

async function withRequests(request: Showing, runs: readonly Run[], services: Calls): Promise<readonly ReadRun[]> {
  const { owner, call } = request;
  const { threads } = services;
  const kept = new Map<string, string>();
  for (let start = 0; start < runs.length; start += atOnce) {
    const runIds = runs.slice(start, start + atOnce).map(({ runId }) => runId);
    const { requests } = await threads.listRunRequests({ owner, runIds }, call());
    for (const { runId, requestJson } of requests) if (requestJson) kept.set(runId, jsonText(requestJson));
  }
  const asked: ReadRun[] = [];
  for (const run of runs) {
    const given = fromKept(kept.get(run.runId));
    const askedBy = given && 'stored' in given ? await longMessage(request, { ...given, ...run }, services) : given;
    asked.push({ run, askedBy });
  }
  return asked;
}

/** A long message, as its thread has it; `undefined` where that has it no more. */
async function longMessage(
  request: Showing,
  { messageId, stored, threadId }: LongMessage & Pick<Run, 'threadId'>,
  services: Calls,
): Promise<AskedBy | undefined> {
  const { owner, call } = request;
  const key = { owner, threadId, messageId: stored };
  const found = await undefinedIfNotFound(services.threads.getMessage(key, call()));
  if (!found) return undefined;
  const message = JSON.parse(jsonText(found.json)) as Message;
  return { messageId, parts: toParts(message, addressesOf(request, services)) };
}

/** What a run has added so far; the fields of its result where it has ended well and said nothing. */
async function withOutput({ owner, call }: Reading, known: ReadRun, services: Calls): Promise<TaskRun> {
  const { runId, threadId, status } = known.run;
  const messages: Message[] = [];
  let cursor: string | undefined;
  do {
    const at = cursor === undefined ? {} : { cursor };
    const page = await services.threads.listRunMessages({ owner, runId, ...at }, call());
    messages.push(...(JSON.parse(jsonText(page.messagesJson)) as readonly Message[]));
    ({ cursor } = page);
  } while (cursor !== undefined);
  if (status !== 'completed' || messages.some(({ role }) => role === 'assistant')) return { ...known, messages };
  const end = await endOfRun({ owner, call, runId, threadId }, services);
  const { state = {} } = dataOf(end) as {
    readonly state?: Readonly<Record<string, unknown>>;
  };
  return { ...known, messages, fields: shownState(state) };
}
