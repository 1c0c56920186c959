import { setHead } from '../http/head.ts';
import type { Middleware } from '../http/context.ts';
import type { BrowserConfig } from './settings.ts';

/** What every reply says to a browser: take it for nothing but what it is, and show it in no page. Names, values. */
export const safeHeaders: readonly string[] = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

/** Gives every reply its headers, whoever sends it. Who ends TLS is known to the operator alone, and so is `maxAge`. */
export function security({ HSTS_SECONDS: maxAge }: Pick<BrowserConfig, 'HSTS_SECONDS'>): Middleware {
  const always = [...safeHeaders, ...(maxAge === 0 ? [] : ['Strict-Transport-Security', `max-age=${String(maxAge)}`])];
  return async (ctx, next) => {
    ctx.state.headers = [...always, 'X-Request-Id', ctx.state.requestId];
    await next();
    if (!ctx.res.headersSent) setHead(ctx);
  };
}
