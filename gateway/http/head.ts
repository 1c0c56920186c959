import type { Context } from './context.ts';

/** Headers of every reply: no content sniffing, no scripts, no framing, no referrer. Names and values in turn. */
export const safeHeaders: readonly string[] = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

/** Replies are private to the caller and soon out of date. */
const cacheControl = 'no-store';

/**
 * Sends status and headers: those of all replies, those that earlier steps put into `state.headers`, and `headers`. They are
 * sent as one list, because Node checks and stores each header that is set singly: with ten headers that was an eighth of
 * the cost of ping.
 */
export function sendHead(ctx: Context, status: number, headers: readonly string[]): void {
  ctx.respond = false;
  ctx.status = status;
  const caching = headers.includes('Cache-Control') ? [] : ['Cache-Control', cacheControl];
  ctx.res.writeHead(status, [...ctx.state.headers, ...caching, ...headers]);
}

/** Sets the headers of {@link sendHead} on a reply that Koa will send. */
export function setHead({ res, state }: Context): void {
  for (let index = 0; index < state.headers.length; index += 2)
    res.setHeader(state.headers[index] ?? '', state.headers[index + 1] ?? '');
  res.setHeader('Cache-Control', cacheControl);
}
