import { isServiceError } from '@agent-workflow/kit/errors';
import type { PartHealth } from '@agent-workflow/runtime/health';
import type { MemoryStore } from '../../ports/store.ts';

/** The same store. It reports to `part` whether its calls work, and that it is unavailable when they fail for that. */
export function reportHealth(store: MemoryStore, part: PartHealth): MemoryStore {
  const reported =
    <A extends readonly unknown[], R>(work: (...values: A) => Promise<R>) =>
    async (...values: A): Promise<R> => {
      try {
        const result = await work(...values);
        part.works();
        return result;
      } catch (error) {
        if (isServiceError(error, 'Unavailable')) part.fails('it is unavailable', error);
        if (isServiceError(error, 'Timeout')) part.fails('it does not answer in time', error);
        throw error;
      }
    };
  return {
    ...store,
    put: reported(store.put),
    update: reported(store.update),
    findUpdated: reported(store.findUpdated),
    get: reported(store.get),
    remove: reported(store.remove),
    list: reported(store.list),
    removeExpired: reported(store.removeExpired),
    findByVector: reported(store.findByVector),
    findByKeywords: reported(store.findByKeywords),
  };
}
