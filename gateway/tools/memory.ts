import { LRUCache } from 'lru-cache';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import { keptMs, type ToolShelf } from './port.ts';

/** Owners whose tools are kept; those who were not heard of for longest are forgotten first. */
const maxOwners = 10_000;

export interface MemoryToolShelfOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** Keeps tools in this process. */
export function openMemoryToolShelf({ now = () => performance.now() }: MemoryToolShelfOptions = {}): ToolShelf {
  const shelf = new LRUCache<string, { readonly tools: readonly RemoteTool[]; readonly until: number }>({
    max: maxOwners,
  });
  return {
    put: (owner, tools) => {
      shelf.set(owner, { tools, until: now() + keptMs });
      return Promise.resolve();
    },
    get: (owner) => {
      const kept = shelf.get(owner);
      return Promise.resolve(kept && now() < kept.until ? kept.tools : []);
    },
    [Symbol.asyncDispose]: () => {
      shelf.clear();
      return Promise.resolve();
    },
  };
}
