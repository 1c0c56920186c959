import type { ScopeOptions } from './options.ts';
import { request, type Connection, type RequestOptions } from './request.ts';
import type { Page, Paged } from './shapes/lists.ts';
import type {
  BatchMemory,
  Forgotten,
  Memory,
  MemoryQuery,
  MemoryScope,
  MemorySelection,
  NewMemory,
  StoredMemory,
} from './shapes/memories.ts';

const inScope = (scope: MemoryScope | undefined): { readonly scope?: MemoryScope } =>
  scope === undefined ? {} : { scope };

export function memoriesOf(connection: Connection) {
  const root = '/v1/store/memories';
  const at = (memoryId: string) => ({ path: `${root}/{memoryId}`, ids: { memoryId } });
  return {
    store: (memory: NewMemory, options: RequestOptions = {}): Promise<StoredMemory> =>
      request(connection, { method: 'POST', path: root, body: memory, ...options }),
    /** Stores up to 100 memories, each as `store` does. One that is refused says why in its place. */
    storeAll: (
      memories: readonly NewMemory[],
      options: RequestOptions = {},
    ): Promise<{ readonly memories: readonly BatchMemory[] }> =>
      request(connection, { method: 'POST', path: `${root}/batch`, body: { memories }, ...options }),
    search: (query: MemoryQuery, options: RequestOptions = {}): Promise<{ readonly results: readonly Memory[] }> =>
      request(connection, { method: 'POST', path: '/v1/store/search', body: query, ...options }),
    list: (
      query: Omit<Page, 'search'> & MemorySelection = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly memories: readonly Memory[]; readonly total: number }> =>
      request(connection, { method: 'GET', path: root, query, ...options }),
    get: (memoryId: string, { scope, ...options }: ScopeOptions = {}): Promise<{ readonly memory: Memory }> =>
      request(connection, { method: 'GET', ...at(memoryId), query: inScope(scope), ...options }),
    update: (
      memoryId: string,
      change: Pick<NewMemory, 'content' | 'metadata' | 'timestamp' | 'expires_at' | 'scope'>,
      options: RequestOptions = {},
    ): Promise<{ readonly memory: Memory }> =>
      request(connection, { method: 'PUT', ...at(memoryId), body: change, ...options }),
    delete: (memoryId: string, { scope, ...options }: ScopeOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(memoryId), query: inScope(scope), ...options }),
    /** Forgets what the selection names, for good. */
    forget: (selection: MemorySelection, options: RequestOptions = {}): Promise<Forgotten> =>
      request(connection, { method: 'POST', path: `${root}/forget`, body: selection, ...options }),
  };
}
