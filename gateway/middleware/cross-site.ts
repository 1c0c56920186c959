import { ServiceError } from '@agent-workflow/kit/errors';
import type { Context, Middleware } from '../http/context.ts';
import { hostOf } from '../http/host.ts';
import { listedIn } from './cors.ts';
import type { BrowserConfig } from './settings.ts';

/**
 * Refuses what a page of another origin would change where nobody authenticates. A browser sends forms and requests without a body for any
 * page, without a preflight, and there the address of the machine is all that lets a caller in. Programs send none of the headers that are
 * looked at.
 * @throws PermissionDenied
 */
export function refuseCrossSite({ CORS_ORIGINS: origins }: Pick<BrowserConfig, 'CORS_ORIGINS'>): Middleware {
  const isListed = listedIn(origins);
  return (ctx, next) => {
    const { origin = '' } = ctx.req.headers;
    if (!reads.has(ctx.method) && isOfAnotherPage(ctx) && !isListed(origin)) throw notOurs();
    return next() as Promise<unknown>;
  };
}

const reads: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** What `Sec-Fetch-Site` says of requests that a page of this gateway makes, or a person. */
const own: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** A browser that does not know `Sec-Fetch-Site`, or does not send it over plain HTTP from another machine, has `Origin` alone. */
function isOfAnotherPage(ctx: Context): boolean {
  const { origin, 'sec-fetch-site': site } = ctx.req.headers;
  if (site !== undefined) return typeof site !== 'string' || !own.has(site);
  // Behind a proxy that ends TLS the scheme is not that of the connection.
  return origin !== undefined && origin !== `http://${hostOf(ctx)}` && origin !== `https://${hostOf(ctx)}`;
}

const notOurs = (): ServiceError =>
  new ServiceError(
    'PermissionDenied',
    'a page of another origin may change nothing here, because nobody authenticates; list its origin in CORS_ORIGINS, or set up authentication',
  );
