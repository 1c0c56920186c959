import {
  choice,
  ConfigError,
  crossCheck,
  integer,
  type Setting,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';

/** Web origins, exact: scheme, host and port as a browser sends them; or `*` alone. */
const origins = (doc: string): Setting<readonly string[] | undefined> => ({
  doc,
  fallback: undefined,
  read: (value) => {
    const list = value.split(',').map((origin) => origin.trim());
    const invalid = list.find((origin) => !(origin === '*' && list.length === 1) && !isOrigin(origin));
    return invalid === undefined
      ? list
      : { problem: `must be \`*\` or web origins like https://app.example.com, separated by commas` };
  },
});

function isOrigin(text: string): boolean {
  const url = /^https?:\/\/[^*]+$/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url?.origin === text;
}

/** An address of the web without query and credentials; a slash at its end is cut. */
const webAddress = (doc: string): Setting<string | undefined> => ({
  doc,
  fallback: undefined,
  read: (value) => {
    const url = /^https?:\/\//.test(value) && URL.canParse(value) ? new URL(value) : undefined;
    const beside = url && `${url.username}${url.password}${url.search}${url.hash}`;
    if (!url || beside !== '') return { problem: 'must be an address like https://agents.example.com, or with a path' };
    return `${url.origin}${url.pathname.replace(/\/$/, '')}`;
  },
});

/** Names of headers. */
const headerNames = (doc: string): Setting<readonly string[]> => ({
  doc,
  fallback: [],
  read: (value) => {
    const list = value.split(',').map((name) => name.trim());
    return list.every((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && name !== '*')
      ? list
      : { problem: 'must be names of headers like X-Api-Key, separated by commas' };
  },
});

/** Host names without a port; or `*` alone. */
const hostNames = (doc: string): Setting<readonly string[] | undefined> => ({
  doc,
  fallback: undefined,
  read: (value) => {
    const list = value.split(',').map((name) => name.trim().toLowerCase());
    const invalid = list.find((name) => !(name === '*' && list.length === 1) && !isHostName(name));
    return invalid === undefined
      ? list
      : { problem: 'must be `*` or host names like agents.example.com, without a port, separated by commas' };
  },
});

const isHostName = (text: string): boolean => /^[a-z0-9._-]+$/.test(text) && !text.endsWith('.');

/** Settings for browsers: the origins that may call, the names of the gateway, and HSTS. */
export const browserSettings = {
  ALLOWED_HOSTS: hostNames(
    'Names by which requests may address the gateway (`Host`), beside IP addresses, names without a domain, and those below `.localhost`, `.test` and `.internal`; separated by commas, `*` for every name. Unset: every name, but none where nobody authenticates and the gateway listens on a loopback address',
  ),
  PUBLIC_URL: webAddress(
    'Address at which callers reach the gateway, with the path that a proxy in front takes away: cards of A2A, metadata for OAuth and addresses of files begin with it. Unset: scheme and `Host` of each request',
  ),
  CORS_ORIGINS: origins('Web origins whose pages may call, separated by commas; `*` for all, without credentials'),
  CORS_HEADERS: headerNames(
    'Further request headers that those pages may send, separated by commas, such as one that a custom authentication reads',
  ),
  CORS_CREDENTIALS: choice(['true', 'false'], 'false', 'Whether those pages may send cookies and other credentials'),
  HSTS_SECONDS: integer(0, 'Age in `Strict-Transport-Security`, in seconds; 0 leaves it to the proxy that ends TLS', {
    max: 63_072_000,
  }),
} satisfies Settings;

export type BrowserConfig = Values<typeof browserSettings>;

/** @throws ConfigError for `*` together with credentials. */
export function refuseCredentialsForAll({
  CORS_ORIGINS: origins,
  CORS_CREDENTIALS: credentials,
}: Pick<BrowserConfig, 'CORS_ORIGINS' | 'CORS_CREDENTIALS'>): void {
  if (origins?.includes('*') === true && credentials === 'true')
    throw new ConfigError('CORS_CREDENTIALS must be false while CORS_ORIGINS is *');
}

const { CORS_ORIGINS, CORS_CREDENTIALS } = browserSettings;

/** What must hold between them. */
export const browserChecks = [crossCheck({ CORS_ORIGINS, CORS_CREDENTIALS }, refuseCredentialsForAll)];
