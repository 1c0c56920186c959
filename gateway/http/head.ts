import type { Context } from './context.ts';

/** Every reply is the caller's own and of the moment. */
const cacheControl = 'no-store';

/**
 * Sends status and headers: what all replies have, what steps before left in `state.headers`, and these. They go out as
 * one list, because Node checks and keeps each header that is set on its own: with ten of them that was an eighth of
 * what ping costs.
 */
export function sendHead(ctx: Context, status: number, headers: readonly string[]): void {
  ctx.respond = false;
  ctx.status = status;
  const caching = headers.includes('Cache-Control') ? [] : ['Cache-Control', cacheControl];
  ctx.res.writeHead(status, [...ctx.state.headers, ...caching, ...headers]);
}

/** Sets on a reply that Koa will send what it would have by {@link sendHead}. */
export function setHead({ res, state }: Context): void {
  for (let index = 0; index < state.headers.length; index += 2)
    res.setHeader(state.headers[index] ?? '', state.headers[index + 1] ?? '');
  res.setHeader('Cache-Control', cacheControl);
}
