import { request, type Connection, type RequestOptions } from './request.ts';
import type { Page, Paged } from './shapes/lists.ts';
import type { Forgotten, Memory, MemoryQuery, MemorySelection, NewMemory } from './shapes/memories.ts';

export function memoriesOf(connection: Connection) {
  const root = '/v1/store/memories';
  const at = (memoryId: string) => ({ path: `${root}/{memoryId}`, ids: { memoryId } });
  return {
    store: (memory: NewMemory, options: RequestOptions = {}): Promise<{ readonly memory_id: string }> =>
      request(connection, { method: 'POST', path: root, body: memory, ...options }),
    search: (query: MemoryQuery, options: RequestOptions = {}): Promise<{ readonly results: readonly Memory[] }> =>
      request(connection, { method: 'POST', path: '/v1/store/search', body: query, ...options }),
    list: (
      query: Omit<Page, 'search'> & MemorySelection = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly memories: readonly Memory[]; readonly total: number }> =>
      request(connection, { method: 'GET', path: root, query, ...options }),
    get: (memoryId: string, options: RequestOptions = {}): Promise<{ readonly memory: Memory }> =>
      request(connection, { method: 'GET', ...at(memoryId), ...options }),
    update: (
      memoryId: string,
      change: Pick<NewMemory, 'content' | 'metadata' | 'timestamp' | 'expires_at'>,
      options: RequestOptions = {},
    ): Promise<{ readonly memory: Memory }> =>
      request(connection, { method: 'PUT', ...at(memoryId), body: change, ...options }),
    delete: (memoryId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(memoryId), ...options }),
    /** Forgets what the selection names, for good. */
    forget: (selection: MemorySelection, options: RequestOptions = {}): Promise<Forgotten> =>
      request(connection, { method: 'POST', path: `${root}/forget`, body: selection, ...options }),
  };
}
