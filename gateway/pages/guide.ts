import { notFound } from '@agent-workflow/kit/errors';
import type { Context, Middleware } from '../http/context.ts';
import { onlyFor } from '../http/only-for.ts';
import { openedOnDemand } from './opened-on-demand.ts';
import { answerWithPage, type Page } from './page.ts';

/**
 * Answers requests below `/docs` with the guide for callers. It holds no data of any owner, so it stands before authentication.
 * The guide is rendered with the first request for it, because the library takes memory and time to load.
 */
export function guidePages(): Middleware {
  const guide = openedOnDemand(() => import('./guide-files.ts').then(({ readGuide }) => readGuide()));
  return onlyFor(
    (ctx) => ctx.path === '/docs' || ctx.path.startsWith('/docs/'),
    async (ctx) => answer(ctx, await guide()),
  );
}

function answer(ctx: Context, guide: ReadonlyMap<string, Page>): void {
  const page = guide.get(ctx.path === '/docs/' ? '/docs' : ctx.path);
  if (!page) throw notFound(`there is nothing at ${ctx.path}`);
  answerWithPage(ctx, page);
}
