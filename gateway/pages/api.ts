import type { Middleware } from '../http/context.ts';
import { onlyFor } from '../http/only-for.ts';
import { openedOnDemand } from './opened-on-demand.ts';
import { answerWithPage } from './page.ts';

/** Where the reference stands, and below which path its style sheets and scripts stand. */
const path = '/docs/api';
const assets = '/docs/assets/';

/**
 * Answers requests for the reference of the API: Swagger UI over `/openapi.json`, and the files that it loads. It holds no data of any
 * owner, so it stands before authentication. The files are read with the first request for one of them: most processes serve none.
 */
export function apiPages(): Middleware {
  const pages = openedOnDemand(() => import('./api-files.ts').then(({ readApiFiles }) => readApiFiles(path, assets)));
  return onlyFor(
    (ctx) => ctx.path === path || ctx.path.startsWith(assets),
    async (ctx, next) => {
      const page = (await pages()).get(ctx.path);
      if (page) answerWithPage(ctx, page);
      else await next();
    },
  );
}
