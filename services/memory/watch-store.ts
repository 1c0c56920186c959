import { isServiceError } from '@agent-workflow/kit/errors';
import type { PartHealth } from '@agent-workflow/runtime/health';
import type { MemoryStore } from './ports/port.ts';

/** The same store, which is reported as away while its calls fail for that. */
export function watchStore(store: MemoryStore, part: PartHealth): MemoryStore {
  const watched =
    <A extends readonly unknown[], R>(work: (...values: A) => Promise<R>) =>
    async (...values: A): Promise<R> => {
      try {
        const result = await work(...values);
        part.works();
        return result;
      } catch (error) {
        if (isServiceError(error, 'Unavailable')) part.fails('it is away', error);
        if (isServiceError(error, 'Timeout')) part.fails('it does not answer in time', error);
        throw error;
      }
    };
  return {
    ...store,
    put: watched(store.put),
    update: watched(store.update),
    findUpdated: watched(store.findUpdated),
    get: watched(store.get),
    remove: watched(store.remove),
    list: watched(store.list),
    findByVector: watched(store.findByVector),
    findByWords: watched(store.findByWords),
  };
}
