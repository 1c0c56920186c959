import { LRUCache } from 'lru-cache';
import { replyTtlMs, type CachedReply, type ReplyCache } from './port.ts';

interface InProcessReplyCacheOptions {
  /** Bytes of replies in the cache; the least recently used are evicted first. */
  readonly maxBytes?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** A reply cache in this process. */
export function openInProcessReplyCache({
  maxBytes = 16 * 1024 * 1024,
  now = () => performance.now(),
}: InProcessReplyCacheOptions = {}): ReplyCache {
  const replies = new LRUCache<string, { readonly reply: CachedReply; readonly until: number }>({
    maxSize: maxBytes,
    sizeCalculation: ({ reply }, key) => reply.replyJson.byteLength + reply.bodyHash.length + key.length,
  });
  return {
    get: (key) => {
      const found = replies.get(key);
      return Promise.resolve(found && now() < found.until ? found.reply : undefined);
    },
    put: (key, reply) => {
      replies.set(key, { reply, until: now() + replyTtlMs });
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => {
      replies.clear();
      return Promise.resolve();
    },
  };
}
