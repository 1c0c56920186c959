import { ConfigError } from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';
import { isLoopback } from '@agent-workflow/runtime/loopback';
import type { ServiceFile } from '@agent-workflow/runtime/service-file';
import { withoutAuthentication, type Authenticate, type Authorize } from '../http/access.ts';
import { loadAuthorization, withoutDeployment } from './authorization.ts';
import type { AuthConfig } from './settings.ts';

/** Authentication and authorization of callers. */
export interface Auth extends Disposable {
  readonly authenticate: Authenticate;
  /** Absent: every authenticated caller may do everything. Without a backend that is so on a loopback address alone. */
  readonly authorize?: Authorize;
  /** Whether everyone on this machine is let in, and nobody else. */
  readonly isLocal: boolean;
  /** The addresses of those whose tokens are taken. */
  readonly issuers: readonly string[];
  /** Who may do what, in one line for the start. */
  readonly summary: string;
}

interface AuthOptions {
  readonly file: Pick<ServiceFile, 'auth' | 'authorization' | 'folder'>;
  readonly config: AuthConfig;
  /** The paths to the members of a user context in which roles stand, beside `roles` and `role`. */
  readonly rolePlaces: readonly (readonly string[])[];
  /** The address that the gateway will listen on. */
  readonly host: string;
  readonly log: Log;
}

/**
 * Opens the authentication and authorization of `service.json`.
 * @throws ConfigError for a backend that cannot be loaded or a key that is not valid.
 */
export async function openAuth(options: AuthOptions): Promise<Auth> {
  const { authorization, folder, auth } = options.file;
  const timeoutMs = options.config.AUTH_TIMEOUT_MS;
  if (auth === null && options.config.API_KEYS === 'on')
    throw new ConfigError('API_KEYS is on while auth is null, which lets everyone in: set auth in service.json');
  const isLocal = isLoopback(options.host);
  const loaded = authorization && (await loadAuthorization({ location: authorization, folder, timeoutMs }));
  const authorize = loaded ?? (isLocal ? undefined : withoutDeployment);
  const authentication = await openAuthentication(options);
  const callers = auth === null ? 'everyone who is let in' : 'every signed-in user';
  const rights = authorization
    ? `authorization: ${authorization}`
    : `authorization: none, ${callers} may use everything${isLocal ? '' : ' but deploy agents'}`;
  return {
    ...authentication,
    ...(authorize && { authorize }),
    isLocal: isLocal && auth === null,
    summary: `auth: ${authentication.summary}${options.config.API_KEYS === 'on' ? ', API keys' : ''}; ${rights}`,
  };
}

/** The part that the application needs. */
export const rulesOf = ({
  authenticate,
  authorize,
  isLocal,
  issuers,
}: Omit<Auth, keyof Disposable>): Omit<Auth, 'summary' | keyof Disposable> => ({
  ...{ authenticate, isLocal, issuers },
  ...(authorize && { authorize }),
});

type Authentication = Omit<Auth, 'authorize' | 'isLocal'>;

/** Each mode imports only what it needs. */
async function openAuthentication({
  file: { auth, folder },
  config,
  host,
  log,
  rolePlaces,
}: AuthOptions): Promise<Authentication> {
  if (auth === null) {
    const who = isLoopback(host) ? 'everyone on this machine' : `everyone who reaches ${host}`;
    return { authenticate: withoutAuthentication, summary: `none, ${who} is let in as one`, ...nothingOpen };
  }
  if (auth === 'jwt') {
    const [{ jwtAuthentication }, { openIssuers }] = await Promise.all([import('./jwt.ts'), import('./issuers.ts')]);
    const { issuers, summary, ...opened } = openIssuers({ config, log });
    const authenticate = jwtAuthentication({ issuers, rolePlaces, expTolerance: config.JWT_EXP_TOLERANCE_SECONDS });
    const addresses = issuers.flatMap(({ name }) => (name !== undefined && isWebAddress(name) ? [name] : []));
    return { authenticate, issuers: addresses, summary, ...opened };
  }
  const { loadCustom } = await import('./custom.ts');
  const authenticate = await loadCustom({ location: auth.path, folder, timeoutMs: config.AUTH_TIMEOUT_MS });
  return { authenticate, summary: `custom (${auth.path})`, ...nothingOpen };
}

const nothingOpen = { issuers: [], [Symbol.dispose]: () => undefined };

const isWebAddress = (text: string): boolean => /^https?:/.test(text) && URL.canParse(text);
