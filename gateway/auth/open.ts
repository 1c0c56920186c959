import type { Log } from '@agent-workflow/kit/log';
import type { ServiceFile } from '@agent-workflow/runtime/service-file';
import type { Authenticate } from '../http/access.ts';
import type { Authorize } from '../http/access.ts';
import { loadAuthorization } from './authorization.ts';
import { withoutAuthentication } from './none.ts';
import type { AuthConfig } from './settings.ts';

/** Who is let in, and what they may. */
export interface Auth extends Disposable {
  readonly authenticate: Authenticate;
  /** Absent: everything. */
  readonly authorize?: Authorize;
  /** What is open to whom, in one line. */
  readonly says: string;
}

export interface AuthOptions {
  readonly file: Pick<ServiceFile, 'auth' | 'authorization' | 'folder'>;
  readonly config: AuthConfig;
  /** The address that will be listened on. */
  readonly host: string;
  readonly log: Log;
}

/**
 * Opens what `service.json` chooses.
 * @throws ConfigError: one line for a backend that does not load or keys that do not hold.
 */
export async function openAuth(options: AuthOptions): Promise<Auth> {
  const { authorization, folder, auth } = options.file;
  const timeoutMs = options.config.AUTH_TIMEOUT_MS;
  const authorize = authorization && (await loadAuthorization({ location: authorization, folder, timeoutMs }));
  const door = await openDoor(options);
  const callers = auth === null ? 'everyone who is let in' : 'every signed-in user';
  const rights = authorization
    ? `authorization: ${authorization}`
    : `authorization: none, ${callers} may use everything`;
  return { ...door, ...(authorize && { authorize }), says: `auth: ${door.says}; ${rights}` };
}

/** What the application takes of it. */
export const rulesOf = ({ authenticate, authorize }: Auth): Pick<Auth, 'authenticate' | 'authorize'> => ({
  authenticate,
  ...(authorize && { authorize }),
});

type Door = Omit<Auth, 'authorize'>;

const loopback = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Each mode loads what it needs, and nothing else. */
async function openDoor({ file: { auth, folder }, config, host, log }: AuthOptions): Promise<Door> {
  if (auth === null) {
    const who = loopback.test(host) ? 'everyone on this machine' : `everyone who reaches ${host}`;
    return { authenticate: withoutAuthentication, says: `none, ${who} is let in as one`, ...nothingOpen };
  }
  if (auth === 'jwt') {
    const [{ jwtAuthentication }, { openKeys }] = await Promise.all([import('./jwt.ts'), import('./keys.ts')]);
    const keys = openKeys({ config, log });
    const authenticate = jwtAuthentication({ config, keys });
    return { authenticate, says: sayJwt(config, keys.origin), [Symbol.dispose]: () => keys[Symbol.dispose]() };
  }
  const { loadCustom } = await import('./custom.ts');
  const authenticate = await loadCustom({ location: auth.path, folder, timeoutMs: config.AUTH_TIMEOUT_MS });
  return { authenticate, says: `custom (${auth.path})`, ...nothingOpen };
}

const nothingOpen = { [Symbol.dispose]: () => undefined };

const sayJwt = ({ JWT_ALGORITHM, JWT_ISSUER, JWT_AUDIENCE }: AuthConfig, origin: string): string =>
  `jwt (${JWT_ALGORITHM}, key from ${origin}, issuer ${JWT_ISSUER ?? 'any'}, audience ${JWT_AUDIENCE ?? 'any'})`;
