import { isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { createQuota } from '@agent-workflow/kit/pages';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Message } from '@agent-workflow/protos/message';
import type { State, Thread, ThreadCheckpoint } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { jsonText } from '../../../http/json.ts';
import { fieldDefaults } from '../../common/graph-facts.ts';
import { metadataTest } from '../../common/metadata-filter.ts';
import type { Services } from '../../common/services.ts';
import { everyMessage, isObject } from '../in/values.ts';
import { refuseNamespace, type NamedCheckpoint } from '../in/checkpoint.ts';
import {
  emptyState,
  metadataOfState,
  selectedState,
  stateTexts,
  updatedText,
  type Placed,
} from '../out/thread-state.ts';
import { questionsIn } from '../out/interrupts.ts';
import { fromKeptRequest, type Started } from '../out/kept-request.ts';
import { comesIn, shownCheckpoints, type ShownCheckpoint } from '../out/shown-checkpoints.ts';
import { tasksIn, valuesText } from '../out/values.ts';
import * as schemas from '../schemas/threads.ts';
import { fewCheckpoints } from './asked-by-task.ts';
import { failedStep } from './failed-step.ts';
import { firstNodes } from './first-nodes.ts';
import { row } from './row.ts';
import { applyUpdate, readUpdate, settling, type Changes } from './state-updates.ts';
import { noThread, threadMatch } from './threads.ts';

const read = { resource: 'checkpointer', action: 'read' } as const;

type Requested = Pick<EndpointRequest, 'owner' | 'call'>;
type Calls = Pick<Services, 'threads' | 'execution'>;

/** The checkpoints of a thread that are looked at: more than are kept. */
const most = 1000;

interface Kept {
  readonly thread: Thread;
  readonly interruptsJson: string | undefined;
  /** As the record has them, the newest first. */
  readonly checkpoints: readonly ThreadCheckpoint[];
  /** As clients see them, the newest first. */
  readonly shown: readonly ShownCheckpoint[];
  /** What the requests of runs held, as far as they were read. */
  readonly requests: Map<string, Promise<Started | undefined>>;
}

/** A thread with its newest checkpoints. @throws NotFound */
async function readKept(request: Requested, threadId: string, services: Calls, limit = most): Promise<Kept> {
  const { owner, call } = request;
  const [{ thread, interruptsJson }, { checkpoints }] = await Promise.all([
    threadMatch(request, threadId, services),
    services.threads.listCheckpoints({ owner, threadId, limit, offset: 0 }, call()),
  ]);
  const shown = shownCheckpoints(checkpoints);
  const questions = interruptsJson && jsonText(interruptsJson);
  return { thread, checkpoints, shown, interruptsJson: questions, requests: new Map() };
}

/** The checkpoint at an index of those that are shown. */
async function placedAt(request: Requested, kept: Kept, index: number, services: Calls): Promise<Placed | undefined> {
  const { thread, shown } = kept;
  const checkpoint = shown[index];
  if (!checkpoint) return undefined;
  const { before, isBegun = false } = checkpoint;
  const started = await startedBy(request, kept, checkpoint, services);
  const placed = { thread, checkpoint, before, started };
  if (index === 0) {
    const failed = await failedStep(request, kept, services);
    if (failed) return { ...placed, checkpoint: { ...checkpoint, next: failed.next }, failure: failed.failure };
    const next = isBegun ? await firstNodes(request, thread, services) : checkpoint.next;
    const { interruptsJson } = kept;
    const isLeft = thread.activeRunId !== undefined && thread.activeRunId !== checkpoint.runId;
    const hasAsked = isLeft && questionsIn(await leftOpen(request, checkpoint, services)).length > 0;
    return { ...placed, checkpoint: { ...checkpoint, next }, interruptsJson, hasAsked };
  }
  if (shown[index - 1]?.runId === checkpoint.runId) return placed;
  return { ...placed, interruptsJson: await leftOpen(request, checkpoint, services) };
}

/** The questions with which the run of a checkpoint, the last of that run, has ended. */
async function leftOpen(
  { owner, call }: Requested,
  { runId, next }: ThreadCheckpoint,
  { threads }: Calls,
): Promise<string | undefined> {
  if (runId === undefined || next.length === 0) return undefined;
  return (await undefinedIfNotFound(threads.getRun({ owner, runId }, call())))?.end?.interruptsJson;
}

/** What the request of the run held that made a checkpoint; it is read once for all checkpoints of the run. */
function startedBy(
  { owner, call }: Requested,
  { requests }: Kept,
  { runId }: ThreadCheckpoint,
  { threads }: Calls,
): Promise<Started | undefined> {
  if (runId === undefined) return Promise.resolve(undefined);
  const known = requests.get(runId);
  if (known) return known;
  const reading = threads.listRunRequests({ owner, runIds: [runId] }, call()).then(({ requests: [first] }) => {
    return first?.requestJson && fromKeptRequest(JSON.parse(jsonText(first.requestJson)));
  });
  requests.set(runId, reading);
  return reading;
}

/** The members of a state that a request asks for; all where it names none. */
type Select = readonly string[] | undefined;

/** Whether a request needs what is stored of a state: its values, and which tasks come next. */
const needsStored = (select: Select): boolean =>
  !select?.length || select.some((name) => ['values', 'next', 'tasks'].includes(name) || name.startsWith('values.'));

/** The state at a checkpoint, member by member; `values` is empty where the request does not ask for it. */
async function textsAt(
  { owner, call: begin }: Requested,
  placed: Placed,
  select: Select,
  { threads, execution }: Calls,
): Promise<Readonly<Record<string, string>>> {
  if (!needsStored(select)) return stateTexts(placed, '{}');
  const call = begin();
  const { threadId } = placed.thread;
  const { checkpointId } = placed.checkpoint;
  const { state } = await threads.getCheckpoint({ owner, threadId, checkpointId }, call);
  return stateTexts(placed, valuesText(state, await fieldDefaults(execution, state, call)), tasksIn(state));
}

const getState = row({
  name: 'lgGetState',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/state',
  access: read,
  params: schemas.ThreadParams,
  input: schemas.StateQuery,
  absent: noThread,
  handle: async (request, services) => {
    const kept = await readKept(request, request.params.thread_id, services, fewCheckpoints);
    const placed = await placedAt(request, kept, 0, services);
    const { select } = request.input;
    return selectedState(placed ? await textsAt(request, placed, select, services) : emptyState, select);
  },
});

/** A checkpoint of the record that no list shows: a stream has named it, or more was written to it since. */
function hidden({ thread, checkpoints, shown }: Kept, id: string): Placed | undefined {
  const checkpoint = checkpoints.find(({ checkpointId }) => checkpointId === id);
  if (!checkpoint) return undefined;
  const placed = { ...checkpoint, ...comesIn(checkpoint) };
  return { thread, checkpoint: placed, before: shown[behind(shown, id)]?.checkpointId };
}

/** Where the shown checkpoints begin that are older than one of the record. */
function behind(shown: readonly ShownCheckpoint[], id: string): number {
  const index = shown.findIndex(({ checkpointId }) => Number.parseInt(checkpointId, 10) < Number(id));
  return index === -1 ? shown.length : index;
}

async function stateAt(
  request: Requested,
  {
    threadId,
    checkpointId,
    select,
  }: { readonly threadId: string; readonly checkpointId: string; readonly select: Select },
  services: Calls,
): Promise<Readonly<Record<string, string>>> {
  const kept = await readKept(request, threadId, services);
  const index = kept.shown.findIndex((checkpoint) => checkpoint.checkpointId === checkpointId);
  const placed = index === -1 ? hidden(kept, checkpointId) : await placedAt(request, kept, index, services);
  if (!placed) throw notFound(`thread "${threadId}" has no checkpoint "${checkpointId}"`);
  return textsAt(request, placed, select, services);
}

const getStateAt = row({
  name: 'lgGetStateAt',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/state/{checkpoint_id}',
  access: read,
  params: schemas.CheckpointParams,
  input: schemas.StateQuery,
  handle: async (request, services) => {
    const { thread_id: threadId, checkpoint_id: checkpointId } = request.params;
    const { select } = request.input;
    return selectedState(await stateAt(request, { threadId, checkpointId, select }, services), select);
  },
});

const getStateAtCheckpoint = row({
  name: 'lgGetStateAtCheckpoint',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/state/checkpoint',
  access: read,
  params: schemas.ThreadParams,
  input: schemas.StateAtCheckpoint,
  handle: async (request, services) => {
    const { params, input } = request;
    const { checkpoint_id: checkpointId } = input.checkpoint;
    refuseNamespace(input.checkpoint, ['body']);
    const threadId = params.thread_id;
    if (checkpointId !== undefined)
      return selectedState(
        await stateAt(request, { threadId, checkpointId, select: input.select }, services),
        input.select,
      );
    const placed = await placedAt(request, await readKept(request, threadId, services, fewCheckpoints), 0, services);
    const texts = placed ? await textsAt(request, placed, input.select, services) : emptyState;
    return selectedState(texts, input.select);
  },
});

type Updating = Parameters<typeof applyUpdate>[0];

/** The write of an update has a key beside that of the restore before it. */
const withOwnKey = ({ owner, params, call, idempotency: { onceKey } }: Updating): Updating => ({
  ...{ owner, params, call },
  idempotency: onceKey === undefined ? {} : { onceKey: `${onceKey}/update` },
});

/**
 * An update of the thread as it was at a checkpoint. Where that is the newest, it is written only while it is: what another has written since is kept
 * as an older version. A request that is repeated finds its own write first.
 */
async function updateAt(
  request: Updating,
  { checkpointId, changes }: { readonly checkpointId: string; readonly changes: Changes },
  services: Calls,
): Promise<State> {
  const { owner, params, idempotency, call } = request;
  const expectedVersion = Number(checkpointId);
  if (Number.isSafeInteger(expectedVersion)) {
    const update = { ...changes, expectedVersion };
    const written = await undefinedIfConflict(applyUpdate(withOwnKey(request), update, services));
    if (written) return written;
  }
  await refuseAbsent(request, { checkpointId, changes }, services);
  const restore = { owner, threadId: params.thread_id, checkpointId, ...idempotency };
  const { version } = await services.threads.restoreThread(restore, call());
  return applyUpdate(withOwnKey(request), { ...changes, expectedVersion: version }, services);
}

/** @throws Invalid for a message that is to be removed and was not there then, before the thread is brought back. */
async function refuseAbsent(
  { owner, params, call }: Updating,
  { checkpointId, changes }: { readonly checkpointId: string; readonly changes: Changes },
  { threads }: Calls,
): Promise<void> {
  const { removedFromContext: removed = [] } = changes;
  if (removed.length === 0 || removed.includes(everyMessage)) return;
  const { state } = await threads.getCheckpoint({ owner, threadId: params.thread_id, checkpointId }, call());
  const known = new Set((JSON.parse(jsonText(state.contextJson)) as readonly Message[]).map((one) => one.message_id));
  const absent = removed.find((id) => !known.has(id));
  if (absent !== undefined) throw invalidAt(['body', 'values', 'messages'], `has no message "${absent}" to remove`);
}

async function undefinedIfConflict<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isServiceError(error, 'Conflict')) return undefined;
    throw error;
  }
}

const updateState = row({
  name: 'lgUpdateState',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/state',
  access: { resource: 'checkpointer', action: 'write' },
  params: schemas.ThreadParams,
  input: schemas.UpdateState,
  absent: noThread,
  handle: async (request, services) => {
    const { params, input } = request;
    const threadId = params.thread_id;
    const read = readUpdate(input, ['body']);
    refuseNamespace(input.checkpoint, ['body']);
    const checkpointId = input.checkpoint?.checkpoint_id ?? input.checkpoint_id;
    const changes = { ...read, ...(await settling(request, { node: input.as_node, checkpointId }, services)) };
    const state =
      checkpointId === undefined
        ? await applyUpdate(withOwnKey(request), changes, services)
        : await updateAt(request, { checkpointId, changes }, services);
    return updatedText(threadId, state.version);
  },
});

type HistoryInput = Readonly<Record<'limit', number>> & {
  readonly before?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly checkpoint?: NamedCheckpoint;
  readonly select?: readonly string[];
};

/** The states of a thread, the newest first, as many as one reply has room for. */
async function historyText(
  request: Pick<EndpointRequest<{ readonly thread_id: string }, HistoryInput>, 'owner' | 'call' | 'params' | 'input'>,
  services: Calls,
  where: 'body' | 'query',
): Promise<string> {
  const { params, input } = request;
  refuseNamespace(input.checkpoint, ['body']);
  const before = idIn(input.before, [where, 'before']);
  const isMeant = metadataTest(input.metadata, ['body', 'metadata']);
  const kept = await readKept(request, params.thread_id, services);
  const from = firstIndex(before, input.checkpoint, kept);
  const texts: string[] = [];
  const isEnough = createQuota(sizes.page);
  for (let index = from; index < kept.shown.length && texts.length < input.limit; index++) {
    const placed = await placedAt(request, kept, index, services);
    if (!placed || !isMeant(metadataOfState(placed))) continue;
    const text = selectedState(await textsAt(request, placed, input.select, services), input.select);
    if (isEnough(Buffer.byteLength(text))) break;
    texts.push(text);
  }
  return `[${texts.join(',')}]`;
}

/** Where the states begin: behind the checkpoint before which they are asked for. One that is not kept has none behind it. */
function firstIndex(
  before: string | undefined,
  checkpoint: NamedCheckpoint | undefined,
  { shown, checkpoints }: Kept,
): number {
  const id = before ?? checkpoint?.checkpoint_id;
  if (id === undefined) return 0;
  const index = shown.findIndex(({ checkpointId }) => checkpointId === id);
  if (index !== -1) return before === undefined ? index : index + 1;
  const known = checkpoints.find(({ checkpointId }) => checkpointId === id);
  return known ? behind(shown, known.checkpointId) : shown.length;
}

/** The id of the checkpoint before which states are asked for. @throws Invalid for what is no such id */
function idIn(before: unknown, loc: Loc): string | undefined {
  const { configurable, checkpoint_id: own } = isObject(before) ? before : { checkpoint_id: before };
  const id = (isObject(configurable) ? configurable['checkpoint_id'] : undefined) ?? own ?? undefined;
  if (id === undefined || (typeof id === 'string' && /^\d{1,20}(?:-before)?$/.test(id))) return id;
  throw invalidAt(loc, 'must be the id of a checkpoint');
}

const getHistory = row({
  name: 'lgGetHistory',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/history',
  access: read,
  params: schemas.ThreadParams,
  input: schemas.History,
  absent: noThread,
  handle: (request, services) => historyText(request, services, 'body'),
});

const listHistory = row({
  name: 'lgListHistory',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/history',
  access: read,
  params: schemas.ThreadParams,
  input: schemas.HistoryQuery,
  absent: noThread,
  handle: (request, services) => historyText(request, services, 'query'),
});

export const stateRows = [getState, getStateAt, getStateAtCheckpoint, updateState, getHistory, listHistory];
