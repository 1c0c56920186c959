/** Does a request that carries an `Idempotency-Key` once, and gives its reply to whoever sends it again. */
export { openMemoryOnceCache } from './memory.ts';
export { createOnce, idMaker, readOnce, type DoOnce, type Once } from './once.ts';
export { onceMs, type KeptReply, type OnceCache } from './port.ts';
export { openRedisOnceCache } from './redis.ts';
