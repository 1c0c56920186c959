import { readFileSync } from 'node:fs';
import { notFound } from '@agent-workflow/kit/errors';
import type { Values } from '@agent-workflow/kit/env';
import type { Context, Middleware } from '../http/context.ts';
import { sendHead } from '../http/reply.ts';
import { answerWithPage, toPage, type Page } from './page.ts';
import type { SignIn } from './playground-files.ts';
import type { pageSettings } from './settings.ts';

type Pages = ReadonlyMap<string, Page>;

const playground = '/playground';
const guide = '/docs';

interface PagesOptions {
  /** Gives the document of the reference as JSON. */
  readonly openApi: () => string;
  /** The names of the protocols that callers may speak: the playground says how. */
  readonly dialects: readonly string[];
}

/**
 * Answers requests for the pages for people: the icon, the playground, the guides and the reference of the API, and leads browsers from `/` to the
 * first of these. They hold no data of any owner, so they stand before authentication. Each is read or rendered with the first request for it,
 * because most processes serve none.
 */
export function pagesForPeople(config: Values<typeof pageSettings>, { openApi, dialects }: PagesOptions): Middleware {
  const { DOCS, PLAYGROUND } = config;
  const hasDocs = DOCS === 'on';
  const hasPlayground = PLAYGROUND === 'on';
  const home = hasPlayground ? playground : hasDocs ? guide : undefined;
  const icon = openedOnDemand(() =>
    Promise.resolve(toPage('svg', readFileSync(new URL('./assets/favicon.svg', import.meta.url)))),
  );
  const playgroundPages = openedOnDemand(async () =>
    (await import('./playground-files.ts')).readPlayground(playground, { signIn: signInOf(config), dialects }),
  );
  const docs = openedOnDemand(async () =>
    (await import('./docs-files.ts')).readDocs({ playground: hasPlayground ? playground : undefined, openApi }),
  );

  const answerPlayground = async (ctx: Context): Promise<void> => {
    const pages = await playgroundPages();
    answer(ctx, pages, playground, pages.size === 0 ? 'the playground is not built: npm run playground' : undefined);
  };
  const answerDocs = async (ctx: Context): Promise<void> => {
    const page = await (await docs())(ctx.path === `${guide}/` ? guide : ctx.path);
    if (!page) throw notFound(nothingAt(ctx));
    answerWithPage(ctx, page);
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

/** Where people sign in to the playground; `undefined` where they paste a token. */
function signInOf(config: Values<typeof pageSettings>): SignIn | undefined {
  const { PLAYGROUND_OIDC_ISSUER: issuer, PLAYGROUND_OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  const { PLAYGROUND_OIDC_SCOPES: scopes, PLAYGROUND_OIDC_AUDIENCE: audience } = config;
  return { issuer, client_id: clientId, scopes, ...(audience !== undefined && { audience }) };
}

const isBelow = (path: string, top: string): boolean =>
  path.startsWith(top) && (path.length === top.length || path[top.length] === '/');

const nothingAt = ({ path }: Context): string => `there is nothing at ${path}`;

/** @throws NotFound */
function answer(ctx: Context, pages: Pages, top: string, absent = nothingAt(ctx)): void {
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
