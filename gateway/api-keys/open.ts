import type { Log } from '@agent-workflow/kit/log';
import type { AccessRules } from '../access/rules.ts';
import type { Auth } from '../auth/open.ts';
import type { AuthConfig } from '../auth/settings.ts';
import type { Authorize } from '../http/access.ts';
import type { Context } from '../http/context.ts';
import { enterByKey, refusedTicket, withKeys } from './authentication.ts';
import { isLiveAmong, openLiveKeys, type LiveKeysOptions } from './live-keys.ts';
import { withinScopes } from './scopes.ts';

/** Authentication and authorization with API keys beside them, where these are on. */
export interface KeyedAuth extends Omit<Auth, keyof Disposable>, AsyncDisposable {
  /** Decides about what starts later in the name of a caller, as by a schedule, within the bounds of the key by which they had come. */
  readonly authorizeLater: Authorize;
  /** Lets in by a ticket that was made with the key of this id. @throws Unauthenticated when that is revoked or has expired; Unavailable */
  readonly enterByKey: (ctx: Context, keyId: string) => Promise<void>;
}

interface KeyedAuthOptions extends LiveKeysOptions {
  readonly config: Pick<AuthConfig, 'API_KEYS'>;
  readonly access: Pick<AccessRules, 'claims'>;
  readonly log: Log;
}

/** Nobody has a key. */
export const withoutKeys: KeyedAuth['enterByKey'] = () => Promise.reject(refusedTicket());

const noKeyIsLive = (): Promise<boolean> => Promise.resolve(false);

/** Adds API keys to a way of authentication, as `API_KEYS` says. Where they are off, none lets in, and what one has set up is refused as that of a revoked one. */
export function openApiKeys(auth: Auth, { config, access, threads, log }: KeyedAuthOptions): KeyedAuth {
  const { [Symbol.dispose]: _, ...rest } = auth;
  if (config.API_KEYS === 'off')
    return {
      ...rest,
      authorizeLater: withinScopes({ authorize: auth.authorize, isLive: noKeyIsLive }),
      enterByKey: withoutKeys,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  const keys = openLiveKeys({ threads, log });
  const authorize = withinScopes({ authorize: auth.authorize, isLive: isLiveAmong(keys) });
  return {
    ...rest,
    authenticate: withKeys({ authenticate: auth.authenticate, keys, roleClaim: access.claims[0] ?? ['roles'] }),
    authorize,
    authorizeLater: authorize,
    enterByKey: enterByKey(keys),
    [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
  };
}
