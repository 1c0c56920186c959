import { integer, type Settings, type Values } from '@agent-workflow/kit/env';

/** Settings of the limits of each caller. */
export const limitSettings = {
  RATE_LIMIT_REQUESTS: integer(
    undefined,
    'Requests that one principal (an anonymous one: one address) may make in `RATE_LIMIT_WINDOW_SECONDS`; 0 is without a bound; unset, 6000 where callers sign in and 0 while `auth` is null',
    { max: 10_000_000 },
  ),
  RATE_LIMIT_WINDOW_SECONDS: integer(60, 'The window of both rate limits, in seconds', { min: 1, max: 86_400 }),
  RATE_LIMIT_AUTH_FAILURES: integer(
    1000,
    'Failed authentications in the window after which all requests of an address are refused; 0 is without a bound',
    { max: 10_000_000 },
  ),
  TRUST_PROXY_HOPS: integer(
    0,
    'Proxies in front that are trusted: the address of a caller is that many entries from the right of `X-Forwarded-For`; 0 takes that of the connection',
    { max: 16 },
  ),
  MAX_STREAMS_PER_PRINCIPAL: integer(100, 'Streams that one principal may have open at once; 0 is without a bound', {
    max: 1_000_000,
  }),
} satisfies Settings;

type LimitConfig = Values<typeof limitSettings>;

/** Default requests per principal and window where callers authenticate. */
const defaultRequests = 6000;

/** The request limit of one principal, 0 for none: without authentication all callers are one principal, so there is none by default. */
export const requestsOf = (config: Pick<LimitConfig, 'RATE_LIMIT_REQUESTS'>, authenticates: boolean): number =>
  config.RATE_LIMIT_REQUESTS ?? (authenticates ? defaultRequests : 0);
