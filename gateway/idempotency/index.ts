/** A request with an `Idempotency-Key` is done once; a repeated one gets the reply of the first. */
export { createIdempotency, type RunIdempotently } from './idempotent-requests.ts';
export { idMaker, keyPattern, messageKeyed, readIdempotencyKey, type IdempotentRequest } from './key.ts';
export { openInProcessReplyCache } from './in-process.ts';
export { replyTtlMs, type ReplyCache } from './port.ts';
export { openRedisReplyCache } from './redis.ts';
