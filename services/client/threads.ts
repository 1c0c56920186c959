import { request, type Connection, type RequestOptions } from './request.ts';
import type { JsonObject } from './shapes/json.ts';
import type { Page, Paged } from './shapes/lists.ts';
import type { Message, MessagesQuery, NewMessage } from './shapes/messages.ts';
import type { Run } from './shapes/runs.ts';
import type {
  Checkpoint,
  FoundThreads,
  Inbox,
  InboxQuery,
  PastState,
  StateWriting,
  Thread,
  ThreadChange,
  ThreadCount,
  ThreadFilter,
  ThreadSearch,
  ThreadState,
} from './shapes/threads.ts';

export function threadsOf(connection: Connection) {
  const at = (threadId: string, rest = '') => ({ path: `/v1/threads/{threadId}${rest}`, ids: { threadId } });
  type Config = RequestOptions & { readonly config?: JsonObject };
  return {
    list: (query: Page = {}, options: RequestOptions = {}): Promise<Paged & { readonly threads: readonly Thread[] }> =>
      request(connection, { method: 'GET', path: '/v1/threads', query, ...options }),
    get: (threadId: string, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, { method: 'GET', ...at(threadId), ...options }),
    /** Sets the name and keys of the metadata; `null` removes. What is absent stays. */
    update: (threadId: string, change: ThreadChange, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, { method: 'PATCH', ...at(threadId), body: change, ...options }),
    /** Those of the 10,000 most recent threads that pass every filter. */
    search: (query: ThreadSearch = {}, options: RequestOptions = {}): Promise<FoundThreads> =>
      request(connection, { method: 'POST', path: '/v1/threads/search', body: query, ...options }),
    count: (filter: ThreadFilter = {}, options: RequestOptions = {}): Promise<ThreadCount> =>
      request(connection, { method: 'POST', path: '/v1/threads/count', body: filter, ...options }),
    /** What waits for a person, with its questions. */
    inbox: (query: InboxQuery = {}, options: RequestOptions = {}): Promise<Inbox> =>
      request(connection, { method: 'GET', path: '/v1/inbox', query, ...options }),
    delete: (threadId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(threadId), ...options }),
    state: (threadId: string, options: RequestOptions = {}): Promise<ThreadState> =>
      request(connection, { method: 'GET', ...at(threadId, '/state'), ...options }),
    /** Writes fields of the state, each through its reducer unless `mode` is `replace`. @returns the whole state. */
    writeState: (
      threadId: string,
      state: JsonObject,
      { config = {}, mode, checkpoint_id: checkpointId, ...options }: Config & StateWriting = {},
    ): Promise<ThreadState> => {
      const body = { config, state, ...(mode && { mode }), ...(checkpointId && { checkpoint_id: checkpointId }) };
      return request(connection, { method: 'POST', ...at(threadId, '/state'), body, ...options });
    },
    clearState: (threadId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(threadId, '/state'), ...options }),
    messages: (
      threadId: string,
      query: MessagesQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly messages: readonly Message[] }> =>
      request(connection, { method: 'GET', ...at(threadId, '/messages'), query, ...options }),
    message: (
      threadId: string,
      messageId: string,
      options: RequestOptions = {},
    ): Promise<{ readonly message: Message }> =>
      request(connection, {
        method: 'GET',
        path: '/v1/threads/{threadId}/messages/{messageId}',
        ids: { threadId, messageId },
        ...options,
      }),
    addMessages: (
      threadId: string,
      messages: readonly NewMessage[],
      { config = {}, ...options }: Config = {},
    ): Promise<{ readonly messages: readonly Message[] }> =>
      request(connection, {
        method: 'POST',
        ...at(threadId, '/messages'),
        body: { messages, config },
        ...options,
      }),
    deleteMessage: (
      threadId: string,
      messageId: string,
      options: RequestOptions = {},
    ): Promise<{ readonly success: boolean }> =>
      request(connection, {
        method: 'DELETE',
        path: '/v1/threads/{threadId}/messages/{messageId}',
        ids: { threadId, messageId },
        ...options,
      }),
    runs: (
      threadId: string,
      query: Page = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly runs: readonly Run[] }> =>
      request(connection, { method: 'GET', ...at(threadId, '/runs'), query, ...options }),
    checkpoints: (
      threadId: string,
      query: Omit<Page, 'search'> = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly checkpoints: readonly Checkpoint[] }> =>
      request(connection, { method: 'GET', ...at(threadId, '/checkpoints'), query, ...options }),
    /** A checkpoint with the state at that point; 404 for one that is no longer kept. */
    checkpoint: (threadId: string, checkpointId: string, options: RequestOptions = {}): Promise<PastState> =>
      request(connection, {
        method: 'GET',
        path: '/v1/threads/{threadId}/checkpoints/{checkpointId}',
        ids: { threadId, checkpointId },
        ...options,
      }),
    /** The thread as it was at a checkpoint, as a new version: the next run goes on from there. */
    restore: (threadId: string, checkpointId: string, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, {
        method: 'POST',
        ...at(threadId, '/restore'),
        body: { checkpoint_id: checkpointId },
        ...options,
      }),
    /** A new thread that begins where a checkpoint of this one stands; `config` has its `thread_name` and `metadata`. */
    fork: (threadId: string, checkpointId: string, { config, ...options }: Config = {}): Promise<Thread> =>
      request(connection, {
        method: 'POST',
        path: '/v1/threads/{threadId}/fork',
        ids: { threadId, checkpointId },
        body: { checkpoint_id: checkpointId, config },
        ...options,
      }),
    /** A new thread with the state and the messages of this one as it is; `config` has its `thread_name` and `metadata`. */
    copy: (threadId: string, { config, ...options }: Config = {}): Promise<Thread> =>
      request(connection, { method: 'POST', ...at(threadId, '/fork'), body: { config }, ...options }),
    /** Drops checkpoints made before a time, but for the newest `keep`, 1 unless given. */
    prune: (
      threadId: string,
      which: { readonly keep?: number; readonly before?: string | number } = {},
      options: RequestOptions = {},
    ): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'POST', ...at(threadId, '/prune'), body: which, ...options }),
  };
}
