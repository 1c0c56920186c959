import { choice, integer, type Setting, type Settings, type Values } from '@agent-workflow/kit/env';

/** Web origins, exact: scheme, host and port as a browser sends them; or `*` alone. */
const origins = (doc: string): Setting<readonly string[] | undefined> => ({
  doc,
  fallback: undefined,
  read: (value) => {
    const list = value.split(',').map((origin) => origin.trim());
    const strange = list.find((origin) => !(origin === '*' && list.length === 1) && !isOrigin(origin));
    return strange === undefined
      ? list
      : { problem: `must be \`*\` or web origins like https://app.example.com, separated by commas` };
  },
});

function isOrigin(text: string): boolean {
  const url = /^https?:\/\/[^*]+$/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url?.origin === text;
}

/** What the environment says about how much a caller may, and from which pages. */
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
  CORS_ORIGINS: origins('Web origins whose pages may call, separated by commas; `*` for all, without credentials'),
  CORS_CREDENTIALS: choice(['true', 'false'], 'false', 'Whether those pages may send cookies and other credentials'),
  HSTS_SECONDS: integer(0, 'Age in `Strict-Transport-Security`, in seconds; 0 leaves it to whoever ends TLS in front', {
    max: 63_072_000,
  }),
} satisfies Settings;

export type LimitConfig = Values<typeof limitSettings>;

/** Requests of one principal in a window where callers sign in, unless told. */
const usualRequests = 6000;

/** The rate of one principal's requests, 0 for none: where nobody signs in, one caller's work is everybody's. */
export const requestsOf = (config: Pick<LimitConfig, 'RATE_LIMIT_REQUESTS'>, signIn: boolean): number =>
  config.RATE_LIMIT_REQUESTS ?? (signIn ? usualRequests : 0);
