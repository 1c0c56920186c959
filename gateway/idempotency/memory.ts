import { LRUCache } from 'lru-cache';
import { onceMs, type KeptReply, type OnceCache } from './port.ts';

export interface MemoryOnceCacheOptions {
  /** Bytes of replies that are kept; those that were not asked for longest are forgotten first. */
  readonly maxBytes?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** Keeps replies in this process. */
export function openMemoryOnceCache({
  maxBytes = 16 * 1024 * 1024,
  now = () => performance.now(),
}: MemoryOnceCacheOptions = {}): OnceCache {
  const kept = new LRUCache<string, { readonly reply: KeptReply; readonly until: number }>({
    maxSize: maxBytes,
    sizeCalculation: ({ reply }, key) => reply.replyJson.byteLength + reply.bodyHash.length + key.length,
  });
  return {
    get: (key) => {
      const found = kept.get(key);
      return Promise.resolve(found && now() < found.until ? found.reply : undefined);
    },
    put: (key, reply) => {
      kept.set(key, { reply, until: now() + onceMs });
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => {
      kept.clear();
      return Promise.resolve();
    },
  };
}
