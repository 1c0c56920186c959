import { threadText } from '@agent-workflow/kit/ids';
import { LRUCache } from 'lru-cache';
import { bytesOfState, type ThreadState } from '../record/thread-state.ts';

/** The states of recent threads in a worker's memory. An entry is valid only while the record still has its version. */
export interface ThreadCache {
  /** The cached state of a thread, whatever its version. */
  readonly get: (owner: string, threadId: string) => ThreadState | undefined;
  readonly set: (owner: string, threadId: string, thread: ThreadState) => void;
  readonly forget: (owner: string, threadId: string) => void;
}

/** Keeps up to about `maxBytes` of states; the threads used least recently go first. */
export function createThreadCache(maxBytes: number): ThreadCache {
  const cache = new LRUCache<string, ThreadState>({
    maxSize: maxBytes,
    sizeCalculation: ({ size, state }) =>
      bytesOfState(size) + overheadBytes + state.context.length * messageOverheadBytes,
  });
  return {
    get: (owner, threadId) => cache.get(threadText({ owner, threadId })),
    set: (owner, threadId, thread) => {
      cache.set(threadText({ owner, threadId }), thread);
    },
    forget: (owner, threadId) => {
      cache.delete(threadText({ owner, threadId }));
    },
  };
}

/** Counted for each entry beside its JSON, and for each of its messages: parsed objects take more than their text. */
const overheadBytes = 1024;
const messageOverheadBytes = 384;
