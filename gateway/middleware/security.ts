import { setHead } from '../http/head.ts';
import type { Middleware } from '../http/context.ts';
import type { BrowserConfig } from './settings.ts';

/** Headers of every reply: no content sniffing, no scripts, no framing, no referrer. Names and values in turn. */
export const safeHeaders: readonly string[] = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

/** Sets the headers of every reply. `Strict-Transport-Security` is sent only when `HSTS_SECONDS` is set: TLS ends in front of the gateway. */
export function security({ HSTS_SECONDS: maxAge }: Pick<BrowserConfig, 'HSTS_SECONDS'>): Middleware {
  const always = [...safeHeaders, ...(maxAge === 0 ? [] : ['Strict-Transport-Security', `max-age=${String(maxAge)}`])];
  return async (ctx, next) => {
    ctx.state.headers = [...always, 'X-Request-Id', ctx.state.requestId];
    await next();
    if (!ctx.res.headersSent) setHead(ctx);
  };
}
