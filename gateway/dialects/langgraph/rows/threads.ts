import { eachOf } from '@agent-workflow/kit/each';
import { conflict, isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Thread, ThreadMatch } from '@agent-workflow/protos/threads';
import type { Subject } from '../../../http/access.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonObject } from '../../../http/json.ts';
import { metadataBytes } from '../../common/bounded.ts';
import { knownAgents } from '../../common/known-agents.ts';
import type { Services } from '../../common/services.ts';
import { agentOfAssistant } from '../ids/assistant-id.ts';
import { isUuid, noUuid } from '../ids/uuid.ts';
import { secondsOf } from '../in/thread-ttl.ts';
import { toError } from '../out/error.ts';
import { toThread, toTtl } from '../out/thread.ts';
import { refusalWith } from '../replies/refusal.ts';
import * as schemas from '../schemas/threads.ts';
import { askedByTask } from './asked-by-task.ts';
import { row } from './row.ts';
import { applyUpdates, readSupersteps } from './state-updates.ts';
import { readHeld } from './thread-values.ts';
import { mayTouchAll } from '../../common/touched.ts';

const read = { resource: 'checkpointer', action: 'read' } as const;
const write = { resource: 'checkpointer', action: 'write' } as const;
const remove = { resource: 'checkpointer', action: 'delete' } as const;

/** What a reply says of a thread that is absent. */
export const noThread = (id: string): string => `Thread with ID ${id} not found`;

type Requested = Pick<EndpointRequest, 'owner' | 'call'>;
type Calls = Pick<Services, 'threads' | 'execution'>;

/** A thread with its open questions. @throws NotFound */
export async function threadMatch(
  { owner, call: begin }: Requested,
  threadId: string,
  { threads }: Pick<Services, 'threads'>,
): Promise<ThreadMatch> {
  const call = begin();
  const thread = await threads.getThread({ owner, threadId }, call);
  if (thread.status !== 'interrupted') return { thread };
  const { threads: found } = await threads.searchThreads(
    {
      ...{ owner, filter: { threadIds: [threadId], statuses: [] }, limit: 1, offset: 0, sortBy: 'updated_at' },
      ...{ ascending: false, withQuestions: true, withValues: false },
    },
    call,
  );
  return { ...found[0], thread };
}

/** A thread as a reply, with its values and why its newest run failed. */
async function threadText(request: Requested, threadId: string, services: Calls, withTtl = false): Promise<string> {
  const match = await threadMatch(request, threadId, services);
  const { thread } = match;
  const { values, tasks } = await readHeld(request, threadId, services);
  const shown = toThread(thread, await askedByTask(request, match, () => Promise.resolve(tasks), services));
  const error = thread.status === 'failed' ? await failureOf(request, thread.runId ?? '', services) : null;
  return jsonObject({
    ...Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, JSON.stringify(value)])),
    values,
    error: JSON.stringify(error),
    ...(withTtl && { ttl: JSON.stringify(toTtl(thread)) }),
  });
}

async function failureOf({ owner, call }: Requested, runId: string, { threads }: Calls): Promise<object | null> {
  const error = (await undefinedIfNotFound(threads.getRun({ owner, runId }, call())))?.end?.error;
  return error ? toError(error) : null;
}

const createThread = row({
  name: 'lgCreateThread',
  method: 'POST',
  path: '/langgraph/threads',
  access: write,
  input: schemas.CreateThread,
  handle: async (request, services) => {
    const { input, owner, newId, idempotency, call } = request;
    const { threads, execution } = services;
    const threadId = input.thread_id ?? newId('thread');
    if (!isUuid(threadId)) throw refusalWith('Invalid', noUuid('thread'));
    const { metadata } = input;
    const updates = readSupersteps(input.supersteps ?? []);
    const ttlSeconds = secondsOf(input.ttl);
    const graph = metadata?.['graph_id'];
    const { names } = await knownAgents(execution, call());
    const agent = typeof graph === 'string' ? agentOfAssistant(graph, names) : undefined;
    const create = {
      ...{ owner, threadId, ...idempotency },
      ...(metadata && { metadataJson: metadataBytes(metadata, ['body', 'metadata']) }),
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(agent !== undefined && { agent }),
    };
    const isNew = await made(threads.createThread(create, call()), input.if_exists, threadId);
    if (isNew) await applyUpdates({ ...request, params: { thread_id: threadId } }, updates, services);
    return threadText(request, threadId, services);
  },
});

/** Whether a thread was made; one that is there already will do where the request says so. */
async function made(work: Promise<unknown>, ifExists: string | undefined, threadId: string): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (!isServiceError(error, 'Conflict')) throw error;
    if (ifExists === 'do_nothing') return false;
    throw conflict(`Thread with ID ${threadId} already exists`);
  }
}

const getThread = row({
  name: 'lgGetThread',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}',
  access: read,
  params: schemas.ThreadParams,
  input: schemas.ThreadQuery,
  absent: noThread,
  handle: (request, services) =>
    threadText(request, request.params.thread_id, services, request.input.include?.includes('ttl')),
});

const updateThread = row({
  name: 'lgUpdateThread',
  method: 'PATCH',
  path: '/langgraph/threads/{thread_id}',
  access: write,
  params: schemas.ThreadParams,
  input: schemas.UpdateThread,
  absent: noThread,
  handle: async (request, services) => {
    const { owner, params, input, idempotency, call } = request;
    const ttlSeconds = secondsOf(input.ttl);
    const change = {
      ...{ dropName: false, dropMetadata: false, dropTtl: false, keepsNulls: true },
      ...(input.metadata && { metadataJson: metadataBytes(input.metadata, ['body', 'metadata']) }),
      ...(ttlSeconds !== undefined && { ttlSeconds }),
    };
    await services.threads.updateThread({ owner, threadId: params.thread_id, ...change, ...idempotency }, call());
    return threadText(request, params.thread_id, services);
  },
});

const deleteThread = row({
  name: 'lgDeleteThread',
  method: 'DELETE',
  path: '/langgraph/threads/{thread_id}',
  access: remove,
  params: schemas.ThreadParams,
  status: 204,
  absent: noThread,
  handle: async ({ owner, params, idempotency, call }, { execution }) => {
    await execution.deleteThread({ owner, threadId: params.thread_id, ...idempotency }, call());
    return '';
  },
});

const copyThread = row({
  name: 'lgCopyThread',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/copy',
  access: write,
  params: schemas.ThreadParams,
  absent: noThread,
  handle: async (request, services) => {
    const { owner, params, newId, isRepeated, call } = request;
    const newThreadId = newId('thread');
    if (!isRepeated) await services.threads.forkThread({ owner, threadId: params.thread_id, newThreadId }, call());
    return threadText(request, newThreadId, services);
  },
});

const pruneThreads = row({
  name: 'lgPruneThreads',
  method: 'POST',
  path: '/langgraph/threads/prune',
  access: remove,
  input: schemas.PruneThreads,
  handle: async (request, services) => {
    const { owner, input, call } = request;
    const ids = [...new Set(input.thread_ids)];
    if (services.mayTouch)
      await mayTouchAll(request, remove, await threadsOf(request, ids, services), subjectOfThread, services);
    let count = 0;
    await eachOf(ids, 4, async (threadId) => {
      const work = prune({ owner, threadId }, input.strategy ?? 'delete', services, call());
      if (await undefinedIfNotFound(work)) count += 1;
    });
    return JSON.stringify({ pruned_count: count });
  },
});

const subjectOfThread = ({ agent, threadId }: Thread): Subject => ({
  ...(agent !== undefined && { agent }),
  thread_id: threadId,
});

/** Those of the threads that are there. */
async function threadsOf(
  { owner, call }: Requested,
  ids: readonly string[],
  { threads }: Calls,
): Promise<readonly Thread[]> {
  const found: Thread[] = [];
  await eachOf(ids, 8, async (threadId) => {
    const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
    if (thread) found.push(thread);
  });
  return found;
}

async function prune(
  key: { readonly owner: string; readonly threadId: string },
  strategy: 'delete' | 'keep_latest',
  { threads, execution }: Calls,
  call: Call,
): Promise<true> {
  if (strategy === 'delete') await execution.deleteThread(key, call);
  else await threads.pruneThread({ ...key, keep: 1 }, call);
  return true;
}

export const threadRows = [createThread, getThread, updateThread, deleteThread, copyThread, pruneThreads];
