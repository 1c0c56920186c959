import koaCors from '@koa/cors';
import { methods } from '../http/endpoint.ts';
import type { Middleware } from '../http/context.ts';
import { refuseCredentialsForAll, type BrowserConfig } from './settings.ts';

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
 * here, before authentication. Other origins get no CORS headers, and their requests are handled like any other.
 * @throws ConfigError for `*` together with credentials.
 */
export function cors(config: CorsConfig & Pick<BrowserConfig, 'CORS_HEADERS'>): Middleware | undefined {
  const { CORS_ORIGINS: origins } = config;
  if (!origins) return undefined;
  refuseCredentialsForAll(config);
  const credentials = config.CORS_CREDENTIALS === 'true';
  const all = origins.includes('*');
  const isListed = listedIn(origins);
  return koaCors({
    origin: ({ req }) => {
      const { origin = '' } = req.headers;
      if (!isListed(origin)) return '';
      return all ? '*' : origin;
    },
    allowMethods: [...methods],
    allowHeaders: [...allowHeaders, ...config.CORS_HEADERS],
    exposeHeaders,
    credentials,
    maxAge,
    keepHeadersOnError: false,
  }) as Middleware;
}

/** Whether an origin is one whose pages may call; an empty one is none. */
export function listedIn(origins: CorsConfig['CORS_ORIGINS'] = []): (origin: string) => boolean {
  const listed = new Set(origins);
  return (origin) => origin !== '' && (listed.has('*') || listed.has(origin));
}

type CorsConfig = Pick<BrowserConfig, 'CORS_ORIGINS' | 'CORS_CREDENTIALS'>;
