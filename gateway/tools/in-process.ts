import { LRUCache } from 'lru-cache';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import { toolsTtlMs, type ToolStore } from './port.ts';

/** Owners whose tools are stored; the least recently used are evicted first. */
const maxOwners = 10_000;

interface InProcessToolStoreOptions {
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** Stores tools in this process. */
export function openInProcessToolStore({ now = () => performance.now() }: InProcessToolStoreOptions = {}): ToolStore {
  const lists = new LRUCache<string, { readonly tools: readonly RemoteTool[]; readonly until: number }>({
    max: maxOwners,
  });
  return {
    put: (owner, tools) => {
      lists.set(owner, { tools, until: now() + toolsTtlMs });
      return Promise.resolve();
    },
    get: (owner) => {
      const found = lists.get(owner);
      return Promise.resolve(found && now() < found.until ? found.tools : []);
    },
    [Symbol.asyncDispose]: () => {
      lists.clear();
      return Promise.resolve();
    },
  };
}
