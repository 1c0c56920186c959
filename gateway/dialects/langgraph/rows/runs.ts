import { eachOf } from '@agent-workflow/kit/each';
import { isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { createQuota } from '@agent-workflow/kit/pages';
import { sizes } from '@agent-workflow/kit/sizes';
import type { RunStatus } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import type { Access, Subject } from '../../../http/access.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { cancelDelayed, refusalOf, slotOf } from '../../common/delayed-runs.ts';
import type { Services } from '../../common/services.ts';
import { accessToDelete, stopOnDisconnect } from '../../common/start-run.ts';
import type { Found } from '../../common/stored-schedules.ts';
import { factsOf, isUndone, statusOfRun, toRun } from '../out/run.ts';
import { selected } from '../out/selected.ts';
import { refusalWith } from '../replies/refusal.ts';
import * as schemas from '../schemas/runs.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { endOnDisconnect, laterRun, laterRuns, shownLater, statusOf, whenBegun } from './later-runs.ts';
import { acceptNow, acceptOrdered, joinable, orderRun, placeOf, startsLater } from './ordered-run.ts';
import { mayTouchAll, touchable } from '../../common/touched.ts';
import { row } from './row.ts';
import { wake } from '../live/wake.ts';
import { requestsOf } from './run-request.ts';
import { valuesOfRun } from './run-values.ts';
import { readValues } from './thread-values.ts';
import { noThread } from './threads.ts';

const invoke = { resource: 'graph', action: 'invoke' } as const;
const read = { resource: 'graph', action: 'read' } as const;
const stop = { resource: 'graph', action: 'stop' } as const;

type Created = EndpointRequest<unknown, schemas.RunInput>;

/** Accepts the run of a body and answers before it ends. */
async function create(request: Created, threadId: string | undefined, services: Services): Promise<string> {
  const ordered = await orderRun(
    request,
    { body: request.input, ...(threadId !== undefined && { threadId }) },
    services,
  );
  const accepted = await acceptOrdered(request, ordered, services);
  request.addReplyHeaders({ 'Content-Location': placeOf(accepted.threadId, accepted.runId) });
  return JSON.stringify(accepted.shown);
}

/** The same, and waits for its end. */
async function createAndWait(request: Created, threadId: string | undefined, services: Services): Promise<string> {
  const ordered = await orderRun(
    request,
    { body: request.input, ...(threadId !== undefined && { threadId }) },
    services,
  );
  if (startsLater(request.input)) {
    const later = await acceptOrdered(request, ordered, services);
    request.addReplyHeaders(joinable(later.threadId, later.runId));
    const named = { ...request, params: { thread_id: later.threadId, run_id: later.runId } };
    if (request.input.on_disconnect === 'cancel') endOnDisconnect(named, services);
    await request.markAccepted();
    return valuesWhenBegun(named, services);
  }
  // A caller that disconnects meanwhile would not be seen to stop the run.
  const awaitMs = request.input.on_disconnect === 'cancel' ? undefined : awaitEndMs;
  const run = await acceptNow(request, ordered, services, awaitMs);
  const { runId, threadId: thread } = run;
  stopOnDisconnect({ ...request, input: ordered.order }, runId, services);
  request.addReplyHeaders(joinable(thread, runId));
  await request.markAccepted();
  return valuesOfRun(request, { ...run, agent: ordered.agent }, services);
}

/** Most runs of a short graph end within this time, in milliseconds, and take one call less. */
const awaitEndMs = 200;

/** What a run on a thread needs besides. */
export const accessOfThread = ({ on_completion: completion }: schemas.RunInput): readonly Access[] =>
  accessToDelete(completion === 'delete');

const createRun = row({
  name: 'lgCreateRun',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/runs',
  startsRun: true,
  access: invoke,
  alsoAccess: accessOfThread,
  params: ThreadParams,
  input: schemas.CreateRun,
  handle: (request, services) => create(request, request.params.thread_id, services),
});

const waitForRun = row({
  name: 'lgRunAndWait',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/runs/wait',
  startsRun: true,
  access: invoke,
  alsoAccess: accessOfThread,
  params: ThreadParams,
  input: schemas.CreateRun,
  handle: (request, services) => createAndWait(request, request.params.thread_id, services),
});

const createStateless = row({
  name: 'lgCreateStatelessRun',
  method: 'POST',
  path: '/langgraph/runs',
  startsRun: true,
  access: invoke,
  input: schemas.CreateRun,
  handle: (request, services) => create(request, undefined, services),
});

const waitForStateless = row({
  name: 'lgStatelessRunAndWait',
  method: 'POST',
  path: '/langgraph/runs/wait',
  startsRun: true,
  access: invoke,
  input: schemas.CreateRun,
  handle: (request, services) => createAndWait(request, undefined, services),
});

/** Runs that are accepted at the same time. */
const atOnce = 8;

const createBatch = row({
  name: 'lgCreateRuns',
  method: 'POST',
  path: '/langgraph/runs/batch',
  isOfAgent: true,
  access: invoke,
  input: schemas.CreateRuns,
  listBody: 'runs',
  handle: async (request, services) => {
    const { runs } = request.input;
    const ordered = await Promise.all(
      runs.map((body, index) => orderRun(request, { body, loc: ['body', index] }, services)),
    );
    const agents = new Set(ordered.map(({ agent }) => agent));
    if (request.agent !== undefined && agents.size > 1)
      throw invalidAt(['body'], 'must be runs of one graph, where authorization is asked about graphs');
    const accepted: { readonly runId: string; readonly shown: object }[] = [];
    try {
      await eachOf([...ordered.entries()], atOnce, async ([index, one]) => {
        const newId = (what: string): string => request.newId(`${String(index)} ${what}`);
        accepted[index] = await acceptOrdered({ ...request, newId }, one, services);
      });
    } catch (error) {
      // The reply has no place for those that were accepted: its caller would start them again. With a key the same request finds them.
      if (request.idempotency.onceKey === undefined) await stopAll(request, accepted, services);
      throw error;
    }
    return JSON.stringify(accepted.map(({ shown }) => shown));
  },
});

/** Stops runs whose caller will not learn of them; one that cannot be stopped is in the log. */
async function stopAll(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  accepted: readonly ({ readonly runId: string } | undefined)[],
  { execution, log }: Services,
): Promise<void> {
  await eachOf(accepted.filter(Boolean), atOnce, async (run) => {
    const runId = run?.runId ?? '';
    await execution.stopRun({ owner, runId }, call()).catch((error: unknown) => {
      log.warn({ err: error, run_id: runId }, 'a run of a refused batch could not be stopped; it goes on');
    });
  });
}

interface Key {
  readonly thread_id: string;
  readonly run_id: string;
}

type Requested = Pick<EndpointRequest<Key>, 'owner' | 'call' | 'params'>;

/** A run on record. @throws NotFound for one of another thread */
export async function runOf({ owner, call, params }: Requested, { threads }: Pick<Services, 'threads'>): Promise<Run> {
  const run = await threads.getRun({ owner, runId: params.run_id }, call());
  if (run.threadId === params.thread_id && !isUndone(run)) return run;
  throw notFound(`thread "${params.thread_id}" has no run "${params.run_id}"`);
}

/** Runs whose requests are read at a time. */
const requestsAtOnce = 20;

/** Runs as replies show them, with what their requests held. */
async function shownRuns(
  request: Pick<EndpointRequest, 'owner' | 'call'>,
  runs: readonly Run[],
  services: Pick<Services, 'threads'>,
): Promise<readonly Shown[]> {
  const runIds = runs.map(({ runId }) => runId);
  const requests = await requestsOf(request, runIds, services);
  return runs.map((run) => {
    const { started, assistantId } = requests.get(run.runId) ?? {};
    return toRun({ ...factsOf(run), assistantId }, started);
  });
}

type Shown = Readonly<Record<string, unknown>>;

const getRun = row({
  name: 'lgGetRun',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/runs/{run_id}',
  access: read,
  params: schemas.RunParams,
  handle: async (request, services) => {
    const run = await runOf(request, services).catch((error: unknown) => {
      if (isServiceError(error, 'NotFound')) return undefined;
      throw error;
    });
    const [shown] = run
      ? await shownRuns(request, [run], services)
      : [await shownLater(request, await laterRun(request, services), services)];
    return JSON.stringify(shown);
  },
});

/** What of a run is known without its request. */
const withoutRequest = new Set(['run_id', 'thread_id', 'status', 'created_at', 'updated_at']);

/** Runs as a list shows them, as many as one reply has room for. */
async function listText(
  request: Pick<EndpointRequest<unknown, { readonly select?: readonly string[] }>, 'owner' | 'call' | 'input'>,
  runs: readonly (Run | Found)[],
  services: Services,
): Promise<string> {
  const { select } = request.input;
  const needsRequests = !select?.length || !select.every((name) => withoutRequest.has(name));
  const texts: string[] = [];
  const isEnough = createQuota(sizes.page);
  for (let from = 0; from < runs.length; from += requestsAtOnce) {
    const some = runs.slice(from, from + requestsAtOnce);
    const begun = some.filter((run) => 'runId' in run);
    const known = needsRequests ? await shownRuns(request, begun, services) : begun.map((run) => toRun(factsOf(run)));
    const shownOf = new Map(known.map((shown) => [shown['run_id'], shown]));
    for (const run of some) {
      const shown = 'runId' in run ? shownOf.get(run.runId) : await shownLater(request, run, services);
      const text = JSON.stringify(selected(shown ?? {}, select));
      if (isEnough(Buffer.byteLength(text)) && texts.length > 0) return `[${texts.join(',')}]`;
      texts.push(text);
    }
  }
  return `[${texts.join(',')}]`;
}

/** The runs of a thread on record, the newest first: so many that have a status. Those of a thread that one is to make later are none. */
async function runsOnRecord(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  { threadId, status, most }: { readonly threadId: string; readonly status: string | undefined; readonly most: number },
  { threads }: Services,
): Promise<readonly Run[]> {
  const found: Run[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < mostRead && found.length < most; count += runsAtOnce) {
    const at = cursor === undefined ? {} : { cursor };
    const page = await threads.listRuns({ owner, threadId, limit: runsAtOnce, offset: 0, ...at }, call());
    const meant = page.runs.filter((run) => status === undefined || statusOfRun[run.status] === status);
    found.push(...meant.filter((run) => !isUndone(run)));
    ({ cursor } = page);
    if (cursor === undefined) break;
  }
  return found;
}

const createdAt = (run: Run | Found): number => ('runId' in run ? run.createdAt : run.resource.createdAt);

const listRuns = row({
  name: 'lgListRuns',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/runs',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  input: schemas.RunsQuery,
  absent: noThread,
  handle: async (request, services) => {
    const { params, input } = request;
    const { limit, offset, status } = input;
    const threadId = params.thread_id;
    const later = await laterRuns(request, threadId, services);
    const onRecord = runsOnRecord(request, { threadId, status, most: offset + limit }, services);
    const begun = later.length > 0 ? ((await undefinedIfNotFound(onRecord)) ?? []) : await onRecord;
    const waiting = later.filter((run) => status === undefined || statusOf(run) === status);
    const all = [...waiting, ...begun].toSorted((one, other) => createdAt(other) - createdAt(one));
    return listText(request, all.slice(offset, offset + limit), services);
  },
});

const runsAtOnce = 100;
/** Of more runs than these one request looks at the newest. */
const mostRead = 10_000;

/** @throws Invalid: nothing undoes the steps of a run but a run with that strategy */
function refuseRollback(action: string | undefined): void {
  if (action === 'rollback')
    throw invalidAt(
      ['query', 'action'],
      'must be interrupt: a run is rolled back by another with multitask_strategy rollback',
    );
}

const cancelRun = row({
  name: 'lgCancelRun',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/runs/{run_id}/cancel',
  access: stop,
  params: schemas.RunParams,
  input: schemas.CancelRun,
  takesQuery: true,
  handle: async (request, services) => {
    const { owner, params, input, call, idempotency } = request;
    refuseRollback(input.action);
    const { run_id: runId, thread_id: threadId } = params;
    const run = await undefinedIfNotFound(runOf(request, services));
    const stopped = run && (await services.execution.stopRun({ owner, runId, ...idempotency }, call()));
    if (!stopped) await cancelLater(request, services);
    request.addReplyHeaders(joinable(threadId, runId));
    const dropped = stopped?.droppedQuestions ?? [];
    return JSON.stringify(dropped.length > 0 ? { dropped_questions: dropped } : {});
  },
});

/** Cancels a run that has not begun. It stays in the lists as one that was. */
async function cancelLater(request: Requested, services: Services): Promise<void> {
  const { owner, params, call } = request;
  const found = await laterRun(request, services);
  if (statusOf(found) !== 'pending') return;
  await cancelDelayed({ owner, runId: params.run_id, call, isKept: true }, services);
  wake({ owner, threadId: params.thread_id });
}

const cancelRuns = row({
  name: 'lgCancelRuns',
  method: 'POST',
  path: '/langgraph/runs/cancel',
  access: stop,
  input: schemas.CancelRuns,
  takesQuery: true,
  status: 204,
  handle: async (request, services) => {
    const { owner, input, call } = request;
    refuseRollback(input.action);
    const runs = input.run_ids
      ? await namedRuns(request, input.run_ids, services)
      : await touchable(request, stop, await openRuns(request, services), subjectOfRun, services);
    await eachOf(runs, atOnce, async ({ runId }) => {
      await services.execution.stopRun({ owner, runId }, call());
    });
    return '';
  },
});

type Cancelling = Pick<EndpointRequest<unknown, CancelInput>, 'owner' | 'user' | 'input' | 'call'>;

const subjectOfRun = ({ agent, threadId }: Run): Subject => ({ agent, thread_id: threadId });

/** The runs that a request names. @throws NotFound where one is absent, and PermissionDenied where the caller may not stop one of them */
async function namedRuns(request: Cancelling, ids: readonly string[], services: Services): Promise<readonly Run[]> {
  const { owner, input, call } = request;
  const { thread_id: threadId } = input;
  const runs: Run[] = [];
  await eachOf([...new Set(ids)], atOnce, async (runId) => {
    const run = await undefinedIfNotFound(services.threads.getRun({ owner, runId }, call()));
    if (!run || (threadId !== undefined && run.threadId !== threadId)) throw refusalWith('NotFound', 'Not Found');
    runs.push(run);
  });
  await mayTouchAll(request, stop, runs, subjectOfRun, services);
  return runs;
}

/** The open runs of a thread, or of all threads. */
async function openRuns({ owner, input, call }: Cancelling, { threads }: Services): Promise<readonly Run[]> {
  const { thread_id: threadId, status } = input;
  if (status === undefined && threadId === undefined)
    throw invalidAt(['body', 'run_ids'], 'is required, or thread_id, or status', 'missing');
  const statuses = openOf[status ?? 'all'];
  const found: Run[] = [];
  let cursor: string | undefined;
  let count = 0;
  do {
    count += runsAtOnce;
    const page = await threads.listOwnRuns(
      { owner, limit: runsAtOnce, statuses, ...(cursor !== undefined && { cursor }) },
      call(),
    );
    found.push(...page.runs.filter((run) => threadId === undefined || run.threadId === threadId));
    ({ cursor } = page);
  } while (cursor !== undefined && found.length < mostCancelled && count < mostRead);
  return found;
}

interface CancelInput {
  readonly run_ids?: readonly string[];
  readonly thread_id?: string;
  readonly status?: 'pending' | 'running' | 'all';
}

const openOf: Readonly<Record<'pending' | 'running' | 'all', readonly RunStatus[]>> = {
  pending: ['queued'],
  running: ['running', 'sleeping'],
  all: ['queued', 'running', 'sleeping'],
};

/** Runs that one request cancels at most, when it names none. */
const mostCancelled = 1000;

/** Waits until a run has begun and ended, and gives the values that it left. */
async function valuesWhenBegun(request: Requested, services: Services): Promise<string> {
  const run = await whenBegun(request, { ms: services.config.INVOKE_TIMEOUT_MS, services });
  if (!('runId' in run)) return valuesOfNone(request, run, services);
  const { runId, threadId, agent } = run;
  return valuesOfRun(request, { runId, threadId, agent }, services);
}

/** What a run has left that was cancelled before it began, or could not be started: its thread is as it was. */
async function valuesOfNone(
  request: Pick<EndpointRequest, 'owner' | 'call'>,
  { resource, schedule }: Found,
  services: Services,
): Promise<string> {
  const refused = refusalOf(schedule);
  if (refused)
    return JSON.stringify({ __error__: { error: refused.code ?? 'Conflict', message: refused.reason ?? '' } });
  const { threadId } = slotOf(resource.id, schedule);
  const values = (await undefinedIfNotFound(readValues(request, threadId, services))) ?? 'null';
  return values === 'null' ? '{}' : values;
}

const joinRun = row({
  name: 'lgJoinRun',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/runs/{run_id}/join',
  access: read,
  params: schemas.RunParams,
  input: schemas.JoinQuery,
  handle: async (request, services) => {
    const { run_id: runId, thread_id: threadId } = request.params;
    const cancels = request.input.cancel_on_disconnect;
    if (cancels === '1' || cancels === 'true') endOnDisconnect(request, services);
    request.addReplyHeaders(joinable(threadId, runId));
    return valuesWhenBegun(request, services);
  },
});

/** The record keeps a run as long as its thread. */
const deleteRun = row({
  name: 'lgDeleteRun',
  method: 'DELETE',
  path: '/langgraph/threads/{thread_id}/runs/{run_id}',
  access: { resource: 'checkpointer', action: 'delete' },
  params: schemas.RunParams,
  handle: async (request, services) => {
    await runOf(request, services);
    throw refusalWith(
      'Invalid',
      'A run cannot be deleted by itself: it is kept as long as its thread. Delete the thread.',
    );
  },
});

export const runRows = [
  ...[createRun, waitForRun, createStateless, waitForStateless, createBatch],
  ...[getRun, listRuns, cancelRun, cancelRuns, joinRun, deleteRun],
];
