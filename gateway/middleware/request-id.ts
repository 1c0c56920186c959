import { randomUUIDv7 } from 'node:crypto';
import type { Middleware } from '../http/context.ts';

const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/**
 * Sets the request id: the caller's `X-Request-Id` when it is 1 to 128 visible ASCII characters, else a new UUIDv7. Node's
 * generator is used, because request ids need not sort within a millisecond (an eighth of the cost of `newId` of kit).
 */
export const requestId: Middleware = (ctx, next) => {
  const given = ctx.req.headers['x-request-id'];
  const id = typeof given === 'string' && visibleAscii.test(given) ? given : randomUUIDv7();
  ctx.state.requestId = id;
  return next();
};
