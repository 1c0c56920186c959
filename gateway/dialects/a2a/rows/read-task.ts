import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { partsOfData } from '@agent-workflow/protos/event-parts';
import type { Message } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import { runChain } from '../../common/run-chain.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { fromKept } from '../in/kept-message.ts';
import { shownState } from '../out/shown-state.ts';
import { toTask, type Task, type TaskRun } from '../out/task.ts';
import { a2aError } from '../replies/reasons.ts';

type Reading = Pick<EndpointRequest, 'owner' | 'call'>;
type Calls = Pick<Services, 'threads' | 'execution' | 'config'>;

interface TaskKey {
  readonly taskId: string;
  readonly agent: string;
}

/** The runs of a task, at least one. @throws TaskNotFound, also for a run that another one was before */
export async function runsOfTask(
  { owner, call }: Reading,
  { taskId, agent }: TaskKey,
  { threads }: Pick<Services, 'threads'>,
): Promise<readonly [Run, ...Run[]]> {
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
  const [first, ...others] = runs;
  if (first?.agent !== agent || (await isAnswer(first, { owner, call }, threads))) throw noTask(taskId);
  return [first, ...others];
}

const noTask = (taskId: string) =>
  a2aError('TASK_NOT_FOUND', `there is no task "${taskId.slice(0, 256)}" of this agent`);

/** Whether a run answers another, and is a part of the task of that one. */
async function isAnswer(
  { runId, resumes }: Run,
  { owner, call }: Reading,
  threads: Pick<Services['threads'], 'getRun'>,
): Promise<boolean> {
  if (resumes === undefined) return false;
  const asked = await undefinedIfNotFound(threads.getRun({ owner, runId: resumes }, call()));
  return asked?.resumedBy === runId;
}

/** A task may be asked and answered so often. */
const mostTurns = 1000;

interface Shown {
  readonly historyLength?: number | undefined;
  /** Absent: yes. */
  readonly withArtifacts?: boolean;
}

/** A task as it stands. */
export async function readTask(
  request: Reading,
  runs: readonly [Run, ...Run[]],
  { historyLength, withArtifacts = true }: Shown,
  services: Calls,
): Promise<Task> {
  const [first] = runs;
  const known = historyLength === 0 ? runs : await withRequests(request, runs, services);
  const read = withArtifacts ? await Promise.all(known.map((each) => withOutput(request, each, services))) : known;
  return toTask({ taskId: first.runId, contextId: first.threadId, runs: read.map(asTaskRun), historyLength });
}

const asTaskRun = (each: Run | TaskRun): TaskRun => ('run' in each ? each : { run: each });

/** Requests that are read at a time. */
const atOnce = 100;

async function withRequests(
  { owner, call }: Reading,
  runs: readonly Run[],
  { threads }: Pick<Services, 'threads'>,
): Promise<readonly TaskRun[]> {
  const kept = new Map<string, string>();
  for (let start = 0; start < runs.length; start += atOnce) {
    const runIds = runs.slice(start, start + atOnce).map(({ runId }) => runId);
    const { requests } = await threads.listRunRequests({ owner, runIds }, call());
    for (const { runId, requestJson } of requests) if (requestJson) kept.set(runId, jsonText(requestJson));
  }
  return runs.map((run) => ({ run, askedBy: fromKept(kept.get(run.runId)) }));
}

/** What a run has added so far; the fields of its result where it has ended well and said nothing. */
async function withOutput({ owner, call }: Reading, given: Run | TaskRun, services: Calls): Promise<TaskRun> {
  const known = asTaskRun(given);
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
  const { state = {} } = JSON.parse(Buffer.concat(partsOfData(end)).toString('utf8')) as {
    readonly state?: Readonly<Record<string, unknown>>;
  };
  return { ...known, messages, fields: shownState(state) };
}
