import { ConfigError } from '@agent-workflow/kit/env';
import koaCors from '@koa/cors';
import { methods } from '../http/endpoint.ts';
import type { Middleware } from '../http/context.ts';
import type { BrowserConfig } from './settings.ts';

/** Headers that a page may send beside those that every page may. */
const allowHeaders = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'Last-Event-ID',
  'X-Request-Id',
  'traceparent',
];

/** Headers of a reply that a page may read. */
const exposeHeaders = [
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'WWW-Authenticate',
  'X-Request-Id',
];

/** Seconds for which a browser keeps the answer to a preflight. */
const maxAge = 600;

/**
 * Lets pages of the listed origins call; `undefined` when none is listed. Preflights of these are answered here, before
 * anybody has to say who they are; other pages get no word of permission, and their requests are judged like any.
 * @throws ConfigError when all origins were to be let in with credentials.
 */
export function cors({ CORS_ORIGINS: origins, CORS_CREDENTIALS }: CorsConfig): Middleware | undefined {
  if (!origins) return undefined;
  const credentials = CORS_CREDENTIALS === 'true';
  const all = origins.includes('*');
  if (all && credentials) throw new ConfigError('CORS_CREDENTIALS must be false while CORS_ORIGINS is *');
  const listed = new Set(origins);
  return koaCors({
    origin: ({ req }) => {
      const { origin = '' } = req.headers;
      if (all) return origin === '' ? '' : '*';
      return listed.has(origin) ? origin : '';
    },
    allowMethods: [...methods],
    allowHeaders,
    exposeHeaders,
    credentials,
    maxAge,
    keepHeadersOnError: false,
  }) as Middleware;
}

type CorsConfig = Pick<BrowserConfig, 'CORS_ORIGINS' | 'CORS_CREDENTIALS'>;
