import { readFileSync } from 'node:fs';
import type { Context, Middleware } from '../http/context.ts';
import { sendHead } from '../http/reply.ts';
import { answerWithPage, toPage, type Page } from './page.ts';

/** Answers requests for the icon that browsers show, with or without `/docs`. */
export function icon(): Middleware {
  let page: Page | undefined;
  return (ctx, next) => {
    if (ctx.path !== '/favicon.ico') return next();
    page ??= toPage('svg', readFileSync(new URL('./assets/favicon.svg', import.meta.url)));
    answerWithPage(ctx, page);
    return undefined;
  };
}

/** Leads browsers from `/` to another page. Other callers of `/` get what any unknown path gives. */
export const homeAt =
  (location: string): Middleware =>
  (ctx, next) => {
    if (ctx.path !== '/' || !isBrowser(ctx)) return next();
    sendHead(ctx, 302, ['Location', location, 'Vary', 'Accept', 'Content-Length', '0']);
    ctx.res.end();
    return undefined;
  };

/** A browser that opens a page names HTML before anything else; programs take any type. */
const isBrowser = (ctx: Context): boolean =>
  (ctx.method === 'GET' || ctx.method === 'HEAD') &&
  /\btext\/html\b/i.test(ctx.get('Accept')) &&
  ctx.accepts('text/html', 'application/json') === 'text/html';
