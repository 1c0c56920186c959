import { newId } from '@agent-workflow/kit/ids';
import type { Middleware } from './context.ts';

const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/** Names the request: by the caller's `X-Request-Id` when it is 1 to 128 visible ASCII characters, else anew. */
export const requestId: Middleware = (ctx, next) => {
  const given = ctx.req.headers['x-request-id'];
  const id = typeof given === 'string' && visibleAscii.test(given) ? given : newId();
  ctx.state.requestId = id;
  ctx.res.setHeader('X-Request-Id', id);
  return next();
};
