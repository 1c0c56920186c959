import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { RunStatus } from '@agent-workflow/protos/lists';
import { readTime } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { AgentParams } from '../schemas/common.ts';
import { ListTasks } from '../schemas/tasks.ts';
import { requireAgent } from './agent.ts';
import { asItStands, readTask, runBefore, type TaskRuns } from './read-task.ts';

type Request = EndpointRequest<{ readonly agent: string }, ListTasks>;

const usualPage = 50;
/** Runs among which the tasks of a list are counted at most, and how many are read at once (counts). */
const mostCounted = 1000;
const atOnce = 100;

const listTasks = endpoint({
  name: 'a2aListTasks',
  method: 'GET',
  path: '/a2a/{agent}/tasks',
  isOfAgent: true,
  access: { resource: 'checkpointer', action: 'read' },
  params: AgentParams,
  input: ListTasks,
  handle: async (request, services) => {
    await requireAgent(request, services);
    const { pageSize = usualPage, pageToken = '', historyLength, includeArtifacts } = request.input;
    const page = await readPage(
      request,
      { limit: pageSize, cursor: pageToken === '' ? undefined : pageToken },
      services,
    );
    const found = page.lasts;
    const tasks = await Promise.all(
      found.map(async (last) =>
        readTask(
          request,
          await runsUntil(request, last, services),
          { historyLength, output: String(includeArtifacts) === 'true' ? 'all' : 'none' },
          services,
        ),
      ),
    );
    const isAll = pageToken === '' && page.cursor === undefined;
    return JSON.stringify({
      tasks,
      nextPageToken: page.cursor ?? '',
      pageSize,
      totalSize: isAll ? tasks.length : await countTasks(request, services),
    });
  },
});

interface Page {
  /** The last run of each task: it has its state. */
  readonly lasts: readonly Run[];
  readonly cursor: string | undefined;
}

/** The statuses of runs among which the tasks of a state are; `undefined`: all. */
const statusesOf: Readonly<Record<NonNullable<ListTasks['status']>, readonly RunStatus[] | undefined>> = {
  TASK_STATE_UNSPECIFIED: undefined,
  TASK_STATE_SUBMITTED: ['queued'],
  TASK_STATE_WORKING: ['running', 'sleeping'],
  TASK_STATE_INPUT_REQUIRED: ['interrupted'],
  TASK_STATE_COMPLETED: ['completed'],
  TASK_STATE_FAILED: ['failed'],
  // One whose question was dropped is on record as it was when it asked.
  TASK_STATE_CANCELED: ['stopped', 'interrupted'],
  TASK_STATE_REJECTED: [],
  TASK_STATE_AUTH_REQUIRED: [],
};

/** A page of the tasks of an agent, the newest first. It may hold fewer than `limit`, also where others follow. */
async function readPage(
  request: Request,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
  { threads }: Pick<Services, 'threads'>,
): Promise<Page> {
  const { owner, call, params, input } = request;
  const { contextId = '', status = 'TASK_STATE_UNSPECIFIED', statusTimestampAfter = '' } = input;
  const statuses = statusesOf[status];
  if (statuses?.length === 0) return { lasts: [], cursor: undefined };
  const after =
    statusTimestampAfter === '' ? undefined : readTime(statusTimestampAfter, ['query', 'statusTimestampAfter']);
  const at = cursor === undefined ? {} : { cursor };
  const { agent } = params;
  const page =
    contextId === ''
      ? await threads.listOwnRuns({ owner, agent, limit, statuses: statuses ?? [], ...at }, call())
      : await undefinedIfNotFound(threads.listRuns({ owner, threadId: contextId, limit, offset: 0, ...at }, call()));
  // A client may list the tasks of a context before it begins one there.
  if (!page) return { lasts: [], cursor: undefined };
  const lasts: Run[] = [];
  for (const found of page.runs) {
    // One that is answered is no last one.
    if (found.resumedBy !== undefined || found.agent !== agent) continue;
    const run = await asItStands(found, request, threads);
    const isAsked = statuses === undefined || (statuses.includes(run.status) && status !== stateWithout(run));
    if (isAsked && (after === undefined || run.updatedAt >= after)) lasts.push(run);
  }
  return { lasts: lasts.toSorted((one, other) => other.updatedAt - one.updatedAt), cursor: page.cursor };
}

/** The state that a run does not give a task although its status is among those of the state. */
const stateWithout = ({ status }: Run): ListTasks['status'] =>
  status === 'interrupted' ? 'TASK_STATE_CANCELED' : undefined;

/** The runs of a task from its first to this one. */
async function runsUntil(request: Request, last: Run, { threads }: Pick<Services, 'threads'>): Promise<TaskRuns> {
  const runs: [Run, ...Run[]] = [last];
  for (let before = await runBefore(last, request, threads); before; before = await runBefore(before, request, threads))
    runs.unshift(before);
  return runs;
}

/** The tasks that the filters give, as far as they are counted. */
async function countTasks(request: Request, services: Pick<Services, 'threads'>): Promise<number> {
  let count = 0;
  let cursor: string | undefined;
  for (let read = 0; read < mostCounted; read += atOnce) {
    const page = await readPage(request, { limit: atOnce, cursor }, services);
    count += page.lasts.length;
    ({ cursor } = page);
    if (cursor === undefined) break;
  }
  return count;
}

export const taskListRows = [listTasks];
