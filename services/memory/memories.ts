import type { Memory } from '@agent-workflow/protos/memory';
import { absent, toItem } from './api/items.ts';
import { createList } from './api/list.ts';
import type { Parts } from './api/parts.ts';
import { createDelete, createForget } from './api/remove.ts';
import { createSearch } from './api/search.ts';
import { createStore } from './api/store.ts';
import { createUpdate } from './api/update.ts';
import { refuseLate } from './record/checks.ts';
import { isAlive } from './record/order.ts';

type MemoriesOptions = Omit<Parts, 'now'> & Partial<Pick<Parts, 'now'>>;

/** The memory service on a store and an embedder. */
export function createMemories({ now = Date.now, ...options }: MemoriesOptions): Memory {
  const parts: Parts = { ...options, now };
  return {
    store: createStore(parts),
    search: createSearch(parts),
    get: async ({ owner, memoryId }, call) => {
      refuseLate(call);
      const [memory] = await parts.store.get(owner, [memoryId]);
      if (!memory || !isAlive(memory, now())) throw absent(memoryId);
      return toItem(memory);
    },
    update: createUpdate(parts),
    delete: createDelete(parts),
    list: createList(parts),
    forget: createForget(parts),
  };
}
