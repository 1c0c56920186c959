import { isIP } from 'node:net';
import { ServiceError } from '@agent-workflow/kit/errors';
import koaCors from '@koa/cors';
import type { Middleware, Context } from '../http/context.ts';
import type { Dialect } from '../http/dialect.ts';
import { methods } from '../http/endpoint.ts';
import { hostOf } from '../http/target.ts';
import { upgradeOf } from '../http/upgrade.ts';
import { type BrowserConfig, refuseCredentialsForAll } from './settings.ts';

interface KnownHostsOptions extends Pick<BrowserConfig, 'ALLOWED_HOSTS'> {
  /** Whether everyone on this machine is let in, and nobody else. */
  readonly isLocal: boolean;
}

/**
 * Refuses requests whose host is a name that the gateway does not have; `undefined` where every name will do. The owner of a web page can let
 * the page's own name lead to the loopback address of the reader (DNS rebinding), and the browser then takes the gateway for the page's
 * origin. So where the address alone lets a caller in, a name that anybody can register must be listed.
 * @throws PermissionDenied
 */
export function knownHosts({ ALLOWED_HOSTS: listed, isLocal }: KnownHostsOptions): Middleware | undefined {
  if (listed === undefined ? !isLocal : listed.includes('*')) return undefined;
  const names = new Set(listed);
  return (ctx, next) => {
    const name = nameOf(hostOf(ctx));
    if (!names.has(name) && !isOfNobody(name)) throw notKnown();
    return next() as Promise<unknown>;
  };
}

/** The name of a host, without the port and in small letters. */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');

/** Top-level domains under which nobody can register a name: RFC 6761, and the one that ICANN keeps for private use. */
const reserved = ['.localhost', '.test', '.internal'];

/** Whether no owner of a web page can have this name: an address, a name without a domain such as `localhost`, a reserved domain, none at all. */
function isOfNobody(name: string): boolean {
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
  return /^[\w.-]*$/.test(name) && (!name.includes('.') || reserved.some((domain) => name.endsWith(domain)));
}

const notKnown = (): ServiceError =>
  new ServiceError(
    'PermissionDenied',
    'this gateway is not known by the name in `Host`; list the name in ALLOWED_HOSTS, or set up authentication',
  );

/** Request headers that a page may set, beside those that are always allowed and those of `CORS_HEADERS`. */
const allowHeaders = [
  'Authorization',
  'Content-Encoding',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'If-Range',
  'Last-Event-ID',
  'Range',
  'X-Request-Id',
  'traceparent',
];

/** Reply headers that a page may read. */
const exposeHeaders = [
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'WWW-Authenticate',
  'X-Request-Id',
];

/** How long a browser caches the answer to a preflight, in seconds. */
const maxAge = 600;

/**
 * Allows requests of pages of the listed origins; `undefined` when none is listed. Preflights of these origins are answered
 * here, before authentication. What a dialect needs beside the usual headers counts on its paths alone. Other origins get no CORS headers, and their requests are handled like any other.
 * @throws ConfigError for `*` together with credentials.
 */
export function cors(
  config: CorsConfig & Pick<BrowserConfig, 'CORS_HEADERS'>,
  dialects: readonly Pick<Dialect, 'name' | 'cors'>[],
): Middleware | undefined {
  const { CORS_ORIGINS: origins } = config;
  if (!origins) return undefined;
  refuseCredentialsForAll(config);
  const credentials = config.CORS_CREDENTIALS === 'true';
  const all = origins.includes('*');
  const isListed = listedIn(origins);
  const stepFor = (more: NonNullable<Dialect['cors']>): Middleware =>
    koaCors({
      origin: ({ req }) => {
        const { origin = '' } = req.headers;
        if (!isListed(origin)) return '';
        return all ? '*' : origin;
      },
      allowMethods: [...methods],
      allowHeaders: [...allowHeaders, ...more.allow, ...config.CORS_HEADERS],
      exposeHeaders: [...exposeHeaders, ...more.expose],
      credentials,
      maxAge,
      keepHeadersOnError: false,
    }) as Middleware;
  const usual = stepFor({ allow: [], expose: [] });
  const own = new Map(dialects.flatMap(({ name, cors: more }) => (more ? [[name, stepFor(more)] as const] : [])));
  return (ctx, next) => (own.get(ctx.state.dialect.name) ?? usual)(ctx, next) as Promise<unknown>;
}

/** Whether an origin is one whose pages may call; an empty one is none. */
function listedIn(origins: CorsConfig['CORS_ORIGINS'] = []): (origin: string) => boolean {
  const listed = new Set(origins);
  return (origin) => origin !== '' && (listed.has('*') || listed.has(origin));
}

type CorsConfig = Pick<BrowserConfig, 'CORS_ORIGINS' | 'CORS_CREDENTIALS'>;

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

/**
 * Refuses a WebSocket to a page of another origin that is not listed, with credentials too: browsers open one for any page, without a
 * preflight.
 * @throws PermissionDenied
 */
export function refuseForeignSockets({ CORS_ORIGINS: origins }: Pick<BrowserConfig, 'CORS_ORIGINS'>): Middleware {
  const isListed = listedIn(origins);
  return (ctx, next) => {
    const { origin = '' } = ctx.req.headers;
    if (upgradeOf(ctx.req) && isOfAnotherPage(ctx) && !isListed(origin)) throw notListed();
    return next() as Promise<unknown>;
  };
}

const notListed = (): ServiceError =>
  new ServiceError(
    'PermissionDenied',
    'a page of another origin gets no WebSocket here; list its origin in CORS_ORIGINS',
  );

/**
 * Refuses a page of another origin that is not listed, with credentials too, on the paths of dialects that ask for it.
 * @throws PermissionDenied
 */
export function refuseForeignPages(
  { CORS_ORIGINS: origins }: Pick<BrowserConfig, 'CORS_ORIGINS'>,
  dialects: readonly Pick<Dialect, 'refusesForeignPages'>[],
): Middleware | undefined {
  if (dialects.every(({ refusesForeignPages: refuses }) => !refuses)) return undefined;
  const isListed = listedIn(origins);
  return (ctx, next) => {
    const { origin = '' } = ctx.req.headers;
    if (ctx.state.dialect.refusesForeignPages && isOfAnotherPage(ctx) && !isListed(origin)) throw notListedHere();
    return next() as Promise<unknown>;
  };
}

const notListedHere = (): ServiceError =>
  new ServiceError('PermissionDenied', 'a page of another origin is refused here; list its origin in CORS_ORIGINS');

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
