import { request, type Connection, type RequestOptions } from './request.ts';
import type { Page, Paged } from './shapes/lists.ts';
import type { Message, MessagesQuery } from './shapes/messages.ts';
import type { RunResult } from './shapes/results.ts';
import type { NewShare, Share, SharedRunRequest, SharedThread } from './shapes/shares.ts';
import type { Thread, ThreadState } from './shapes/threads.ts';

type Shares = Paged & { readonly shares: readonly Share[] };

/** Threads that are shared: by the caller, and with the caller. */
export function sharesOf(connection: Connection) {
  const ofThread = (threadId: string) => ({ path: '/v1/threads/{threadId}/shares', ids: { threadId } });
  const at = (shareId: string, rest = '') => ({ path: `/v1/shared/{shareId}${rest}`, ids: { shareId } });
  return {
    create: (threadId: string, body: NewShare, options: RequestOptions = {}): Promise<Share> =>
      request(connection, { method: 'POST', ...ofThread(threadId), body, ...options }),
    list: (
      threadId: string,
      query: Pick<Page, 'limit' | 'cursor'> = {},
      options: RequestOptions = {},
    ): Promise<Shares> => request(connection, { method: 'GET', ...ofThread(threadId), query, ...options }),
    /** Revokes a share: within five seconds nothing is delivered by it. */
    delete: (
      threadId: string,
      shareId: string,
      options: RequestOptions = {},
    ): Promise<{ readonly success: boolean }> => {
      const path = '/v1/threads/{threadId}/shares/{shareId}';
      return request(connection, { method: 'DELETE', path, ids: { threadId, shareId }, ...options });
    },
    /** What is shared with the caller, with a role of the caller, or with everybody. */
    withMe: (
      query: Pick<Page, 'limit' | 'cursor'> & { readonly role?: string; readonly everybody?: 'true' } = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly shares: readonly SharedThread[] }> =>
      request(connection, { method: 'GET', path: '/v1/shared', query, ...options }),
    /** Whose thread it is, and what the share lets the caller do. */
    get: (shareId: string, options: RequestOptions = {}): Promise<Share> =>
      request(connection, { method: 'GET', ...at(shareId, '/share'), ...options }),
    getThread: (shareId: string, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, { method: 'GET', ...at(shareId), ...options }),
    getState: (shareId: string, options: RequestOptions = {}): Promise<{ readonly state: ThreadState }> =>
      request(connection, { method: 'GET', ...at(shareId, '/state'), ...options }),
    listMessages: (
      shareId: string,
      query: MessagesQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly messages: readonly Message[] }> =>
      request(connection, { method: 'GET', ...at(shareId, '/messages'), query, ...options }),
    /** Runs the agent of the thread, for its owner, and waits for the result. */
    invoke: (shareId: string, body: SharedRunRequest, options: RequestOptions = {}): Promise<RunResult> =>
      request(connection, { method: 'POST', ...at(shareId, '/invoke'), body, head: 'late', ...options }),
  };
}
