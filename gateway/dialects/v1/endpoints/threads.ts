import { idText, readTime } from '@agent-workflow/protos/message';
import type { Thread } from '@agent-workflow/protos/threads';
import { jsonObject } from '../../../http/json.ts';
import * as examples from '../examples/threads.ts';
import { ForkThread, PruneThread, RestoreThread } from '../schemas/checkpoints.ts';
import { Done } from '../schemas/common.ts';
import {
  ThreadList,
  ThreadsQuery,
  ThreadDetails,
  ThreadParams,
  DeleteInput,
  UpdateThread,
} from '../schemas/threads.ts';
import { metadataBytes } from '../../common/bounded.ts';
import { endpoint } from './common/endpoint.ts';
import { nextPage, pageOf } from './common/page.ts';
import { checkPathThread } from './common/path-thread.ts';
import { shownItems } from '../../common/shown-items.ts';
import { threadText } from './common/shown-items.ts';

/** Thread details as JSON text: the fields of a list item, and the same in `thread_data.thread` for the reference client. */
function detailsOf(thread: Thread, owner: string): string {
  const details = threadText(owner)(thread);
  return `${details.slice(0, -1)},"thread_data":{"thread":${details}}}`;
}

/** The owner's threads, most recently updated first. */
export const listThreads = endpoint({
  name: 'listThreads',
  tag: 'threads',
  summary: 'List threads, most recently updated first',
  description: 'The threads of the owner, most recently updated first, in pages.',
  example: examples.listThreads,
  method: 'GET',
  path: '/v1/threads',
  access: { resource: 'checkpointer', action: 'read' },
  input: ThreadsQuery,
  reply: ThreadList,
  handle: async ({ input, owner, call }, { threads, log }) => {
    const page = await threads.listThreads({ owner, ...pageOf(input) }, call());
    const shown = shownItems(page.threads, {
      kind: 'thread',
      show: threadText(owner),
      idsOf: ({ threadId }) => ({ threadId }),
      log,
    });
    return jsonObject({ threads: `[${shown.join(',')}]`, ...nextPage(page.cursor) });
  },
});

export const getThread = endpoint({
  name: 'getThread',
  tag: 'threads',
  summary: 'Get a thread',
  description: 'The name, the metadata and the newest run of a thread.',
  example: examples.getThread,
  method: 'GET',
  path: '/v1/threads/{thread_id}',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  reply: ThreadDetails,
  handle: async ({ owner, params, call }, { threads }) =>
    detailsOf(await threads.getThread({ owner, threadId: params.thread_id }, call()), owner),
});

/** Changes name, metadata and ttl, also while a run holds the thread. */
export const updateThread = endpoint({
  name: 'updateThread',
  tag: 'threads',
  summary: 'Change the name, the metadata and the ttl of a thread',
  description:
    'Renames a thread, sets or removes keys of its metadata, and says how long it is kept, also while a run of it is under way. What is not named stays. The state and its checkpoints do not change.',
  example: examples.updateThread,
  method: 'PATCH',
  path: '/v1/threads/{thread_id}',
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: UpdateThread,
  reply: ThreadDetails,
  handle: async ({ owner, params, input, idempotency, call }, { threads }) => {
    const { thread_name: name, metadata, ttl } = input;
    const change = {
      ...(typeof name === 'string' && { threadName: name.toWellFormed() }),
      dropName: name === null,
      ...(metadata && { metadataJson: metadataBytes(metadata, ['body', 'metadata']) }),
      dropMetadata: metadata === null,
      ...(typeof ttl === 'number' && { ttlSeconds: ttl }),
      dropTtl: ttl === null,
    };
    return detailsOf(
      await threads.updateThread({ owner, threadId: params.thread_id, ...change, ...idempotency }, call()),
      owner,
    );
  },
});

/** Deletes the thread with its state, messages, checkpoints, runs and memories. */
export const deleteThread = endpoint({
  name: 'deleteThread',
  tag: 'threads',
  summary: 'Delete a thread and all its data',
  description:
    'Stops the run of the thread and deletes its state, messages, checkpoints, runs and memories, for good. The thread is 404 from the start of the deletion. After a 503 the same request continues it.',
  example: examples.deleteThread,
  method: 'DELETE',
  path: '/v1/threads/{thread_id}',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ThreadParams,
  input: DeleteInput,
  reply: Done,
  handle: async ({ owner, params, idempotency, call }, { execution }) => {
    await execution.deleteThread({ owner, threadId: params.thread_id, ...idempotency }, call());
    return '{"success":true}';
  },
});

/** Makes a new thread from a checkpoint of another. */
export const forkThread = endpoint({
  name: 'forkThread',
  tag: 'threads',
  summary: 'Copy a thread, or make one that begins where it stood at a checkpoint',
  description:
    'Makes a new thread that begins as this one is, or was at a checkpoint, with its state and messages: at most 256 MiB of them. This thread does not change.',
  example: examples.forkThread,
  method: 'POST',
  path: '/v1/threads/{thread_id}/fork',
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: ForkThread,
  reply: ThreadDetails,
  handle: async ({ owner, params, input, newId, isRepeated, call }, { threads }) => {
    const { thread_id: named, thread_name: threadName, metadata } = input.config ?? {};
    checkPathThread(named, params.thread_id);
    const newThreadId = newId('thread');
    // A fork that was deleted in the meantime is not made again: NotFound.
    if (isRepeated) return detailsOf(await threads.getThread({ owner, threadId: newThreadId }, call()), owner);
    const fork = await threads.forkThread(
      {
        owner,
        threadId: params.thread_id,
        ...(input.checkpoint_id !== undefined && { checkpointId: idText(input.checkpoint_id) }),
        newThreadId,
        ...(threadName !== undefined && { threadName: threadName.toWellFormed() }),
        ...(metadata && { metadataJson: metadataBytes(metadata, ['body', 'config', 'metadata']) }),
      },
      call(),
    );
    return detailsOf(fork, owner);
  },
});

/** Brings the thread back to one of its checkpoints. */
export const restoreThread = endpoint({
  name: 'restoreThread',
  tag: 'threads',
  summary: 'Bring a thread back to one of its checkpoints',
  description:
    'Makes state, messages and open questions again what they were at a checkpoint, as a new version of the thread: the next run goes on from there. Versions before it can be read as before. 409 while a run of the thread is under way, and when more has changed since than one change holds: then fork.',
  example: examples.restoreThread,
  method: 'POST',
  path: '/v1/threads/{thread_id}/restore',
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: RestoreThread,
  reply: ThreadDetails,
  handle: async ({ owner, params, input, idempotency, call: begin }, { threads }) => {
    checkPathThread(input.config?.thread_id, params.thread_id);
    const key = { owner, threadId: params.thread_id };
    const call = begin();
    await threads.restoreThread({ ...key, checkpointId: idText(input.checkpoint_id), ...idempotency }, call);
    return detailsOf(await threads.getThread(key, call), owner);
  },
});

/** Drops checkpoints; what the thread is, and what it waits for, stays. */
export const pruneThread = endpoint({
  name: 'pruneThread',
  tag: 'threads',
  summary: 'Drop older checkpoints of a thread',
  description:
    'Drops the checkpoints but for the newest. State, messages and open questions stay, and so do the checkpoints that a run which holds the thread may be rolled back by.',
  example: examples.pruneThread,
  method: 'POST',
  path: '/v1/threads/{thread_id}/prune',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ThreadParams,
  input: PruneThread,
  reply: Done,
  handle: async ({ owner, params, input, idempotency, call }, { threads }) => {
    const { keep } = input;
    const before = readTime(input.before, ['before']);
    const which = { keep, ...(before !== undefined && { before }) };
    await threads.pruneThread({ owner, threadId: params.thread_id, ...which, ...idempotency }, call());
    return '{"success":true}';
  },
});
