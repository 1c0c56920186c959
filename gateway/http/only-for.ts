import type { Next } from 'koa';
import type { Context, Middleware } from './context.ts';

/**
 * A step for the requests that are its own. All others pass it without an async function of their own, which would stand in memory
 * as long as the request: for each open stream.
 */
export const onlyFor =
  (isOwn: (ctx: Context) => boolean, step: (ctx: Context, next: Next) => Promise<unknown>): Middleware =>
  (ctx, next) =>
    isOwn(ctx) ? step(ctx, next) : next();
