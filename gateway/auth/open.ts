import type { Log } from '@agent-workflow/kit/log';
import { isLoopback } from '@agent-workflow/runtime/loopback';
import type { ServiceFile } from '@agent-workflow/runtime/service-file';
import { withoutAuthentication, type Authenticate, type Authorize } from '../http/access.ts';
import { loadAuthorization, withoutDeployment } from './authorization.ts';
import type { AuthConfig } from './settings.ts';

/** Authentication and authorization of callers. */
interface Auth extends Disposable {
  readonly authenticate: Authenticate;
  /** Absent: every authenticated caller may do everything. Without a backend that is so on a loopback address alone. */
  readonly authorize?: Authorize;
  /** Whether everyone on this machine is let in, and nobody else. */
  readonly isLocal: boolean;
  /** Who may do what, in one line for the start. */
  readonly summary: string;
}

interface AuthOptions {
  readonly file: Pick<ServiceFile, 'auth' | 'authorization' | 'folder'>;
  readonly config: AuthConfig;
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
    summary: `auth: ${authentication.summary}; ${rights}`,
  };
}

/** The part that the application needs. */
export const rulesOf = ({ authenticate, authorize, isLocal }: Auth): Omit<Auth, 'summary' | keyof Disposable> => ({
  ...{ authenticate, isLocal },
  ...(authorize && { authorize }),
});

type Authentication = Omit<Auth, 'authorize' | 'isLocal'>;

/** Each mode imports only what it needs. */
async function openAuthentication({ file: { auth, folder }, config, host, log }: AuthOptions): Promise<Authentication> {
  if (auth === null) {
    const who = isLoopback(host) ? 'everyone on this machine' : `everyone who reaches ${host}`;
    return { authenticate: withoutAuthentication, summary: `none, ${who} is let in as one`, ...nothingOpen };
  }
  if (auth === 'jwt') {
    const [{ jwtAuthentication }, { openKeys }] = await Promise.all([import('./jwt.ts'), import('./keys.ts')]);
    const keys = openKeys({ config, log });
    const authenticate = jwtAuthentication({ config, keys });
    return { authenticate, summary: jwtSummary(config, keys.origin), [Symbol.dispose]: () => keys[Symbol.dispose]() };
  }
  const { loadCustom } = await import('./custom.ts');
  const authenticate = await loadCustom({ location: auth.path, folder, timeoutMs: config.AUTH_TIMEOUT_MS });
  return { authenticate, summary: `custom (${auth.path})`, ...nothingOpen };
}

const nothingOpen = { [Symbol.dispose]: () => undefined };

const jwtSummary = ({ JWT_ALGORITHM, JWT_ISSUER, JWT_AUDIENCE }: AuthConfig, origin: string): string =>
  `jwt (${JWT_ALGORITHM}, key from ${origin}, issuer ${JWT_ISSUER ?? 'any'}, audience ${JWT_AUDIENCE ?? 'any'})`;
