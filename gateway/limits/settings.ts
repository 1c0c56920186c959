import { integer, type Settings, type Values } from '@agent-workflow/kit/env';

/** What the environment says about how much a caller may. */
export const limitSettings = {
  RATE_LIMIT_REQUESTS: integer(
    undefined,
    'Requests that one principal (an anonymous one: one address) may make in `RATE_LIMIT_WINDOW_SECONDS`; 0 is without a bound; unset, 6000 where callers sign in and 0 while `auth` is null',
    { max: 10_000_000 },
  ),
  RATE_LIMIT_WINDOW_SECONDS: integer(60, 'The window of both rate limits, in seconds', { min: 1, max: 86_400 }),
  RATE_LIMIT_AUTH_FAILURES: integer(
    1000,
    'Failed authentications in the window after which an address is not heard; 0 is without a bound',
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

export type LimitConfig = Values<typeof limitSettings>;

/** Requests of one principal in a window where callers sign in, unless told. */
const usualRequests = 6000;

/** The rate of one principal's requests, 0 for none: where nobody signs in, one caller's work is everybody's. */
export const requestsOf = (config: Pick<LimitConfig, 'RATE_LIMIT_REQUESTS'>, signIn: boolean): number =>
  config.RATE_LIMIT_REQUESTS ?? (signIn ? usualRequests : 0);
