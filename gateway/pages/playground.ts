import { notFound } from '@agent-workflow/kit/errors';
import type { Context, Middleware } from '../http/context.ts';
import { onlyFor } from '../http/only-for.ts';
import { openedOnDemand } from './opened-on-demand.ts';
import { answerWithPage, type Page } from './page.ts';

/** Where the playground stands; its scripts and style sheets stand below. */
const path = '/playground';

/**
 * Answers requests for the playground and what it loads. The page holds no data of any owner, so it stands before authentication; what
 * it shows comes from `/v1`. The files are read with the first request for one of them.
 */
export function playgroundPages(): Middleware {
  const pages = openedOnDemand(() => import('./playground-files.ts').then((files) => files.readPlayground(path)));
  return onlyFor(
    (ctx) => ctx.path === path || ctx.path.startsWith(`${path}/`),
    async (ctx) => answer(ctx, await pages()),
  );
}

function answer(ctx: Context, pages: ReadonlyMap<string, Page>): void {
  const page = pages.get(ctx.path === `${path}/` ? path : ctx.path);
  if (!page) throw notFound(pages.size === 0 ? notBuilt : `there is nothing at ${ctx.path}`);
  answerWithPage(ctx, page);
}

const notBuilt = 'the playground is not built: npm run playground';
