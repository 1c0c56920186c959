import { randomUUIDv7 } from 'node:crypto';
import type { Middleware } from '../http/context.ts';

const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/**
 * Names the request: by the caller's `X-Request-Id` when it is 1 to 128 visible ASCII characters, else anew.
 * Such an id need not sort among those of the same millisecond, which is what makes it cheap.
 */
export const requestId: Middleware = (ctx, next) => {
  const given = ctx.req.headers['x-request-id'];
  const id = typeof given === 'string' && visibleAscii.test(given) ? given : randomUUIDv7();
  ctx.state.requestId = id;
  return next();
};
