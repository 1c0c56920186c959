import { readFileSync } from 'node:fs';
import { notFound } from '@agent-workflow/kit/errors';
import type { Values } from '@agent-workflow/kit/env';
import type { Context, Middleware } from '../http/context.ts';
import { sendHead } from '../http/reply.ts';
import { answerWithPage, toPage, type Page } from './page.ts';
import type { pageSettings } from './settings.ts';

type Pages = ReadonlyMap<string, Page>;

const playground = '/playground';
const guide = '/docs';
/** The reference of the API, and below which path its style sheets and scripts stand. */
const reference = '/docs/api';
const assets = '/docs/assets/';

/**
 * Answers requests for the pages for people: the icon, the playground, the guides and the reference of the API, and leads browsers from `/` to the
 * first of these. They hold no data of any owner, so they stand before authentication. Each is read or rendered with the first request for it,
 * because most processes serve none.
 */
export function pagesForPeople({ DOCS, PLAYGROUND }: Values<typeof pageSettings>): Middleware {
  const hasDocs = DOCS === 'on';
  const hasPlayground = PLAYGROUND === 'on';
  const home = hasPlayground ? playground : hasDocs ? guide : undefined;
  const icon = openedOnDemand(() =>
    Promise.resolve(toPage('svg', readFileSync(new URL('./assets/favicon.svg', import.meta.url)))),
  );
  const playgroundPages = openedOnDemand(async () =>
    (await import('./playground-files.ts')).readPlayground(playground),
  );
  const docsPages = openedOnDemand(async () =>
    (await import('./docs-files.ts')).readDocs({ playground: hasPlayground ? playground : undefined }),
  );
  const referencePages = openedOnDemand(async () => (await import('./api-files.ts')).readApiFiles(reference, assets));

  const answerPlayground = async (ctx: Context): Promise<void> => {
    const pages = await playgroundPages();
    answer(ctx, pages, playground, pages.size === 0 ? 'the playground is not built: npm run playground' : undefined);
  };
  const answerDocs = async (ctx: Context): Promise<void> => {
    const isOfReference = ctx.path === reference || ctx.path.startsWith(assets);
    const page = isOfReference ? (await referencePages()).get(ctx.path) : undefined;
    if (page) answerWithPage(ctx, page);
    else answer(ctx, await docsPages(), guide);
  };
  return (ctx, next): unknown => {
    const { path } = ctx;
    if (path === '/favicon.ico') return icon().then((page) => answerWithPage(ctx, page));
    if (home !== undefined && path === '/' && isBrowser(ctx)) {
      leadTo(ctx, home);
      return;
    }
    if (hasPlayground && isBelow(path, playground)) return answerPlayground(ctx);
    if (hasDocs && isBelow(path, guide)) return answerDocs(ctx);
    return next();
  };
}

const isBelow = (path: string, top: string): boolean =>
  path.startsWith(top) && (path.length === top.length || path[top.length] === '/');

/** @throws NotFound */
function answer(ctx: Context, pages: Pages, top: string, absent = `there is nothing at ${ctx.path}`): void {
  const page = pages.get(ctx.path === `${top}/` ? top : ctx.path);
  if (!page) throw notFound(absent);
  answerWithPage(ctx, page);
}

function leadTo(ctx: Context, location: string): void {
  sendHead(ctx, 302, ['Location', location, 'Vary', 'Accept', 'Content-Length', '0']);
  ctx.res.end();
}

/** A browser that opens a page names HTML before anything else; programs take any type, and get what any unknown path gives. */
const isBrowser = (ctx: Context): boolean =>
  (ctx.method === 'GET' || ctx.method === 'HEAD') &&
  /\btext\/html\b/i.test(ctx.get('Accept')) &&
  ctx.accepts('text/html', 'application/json') === 'text/html';

/** Calls `open` with the first request, and again after a failure: a file that cannot be read now may be readable later. */
function openedOnDemand<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () =>
    (opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));
}
