import { ServiceError } from '@agent-workflow/kit/errors';
import { bearerOf } from '../auth/bearer.ts';
import { principalOf } from '../auth/user.ts';
import type { Authenticate } from '../http/access.ts';
import type { Context, Principal } from '../http/context.ts';
import { apiKeyPrefix, isSameHash, readApiKey } from './api-key.ts';
import type { KeptKey } from './kept-key.ts';
import type { LiveKeys } from './live-keys.ts';
import { keyClaims } from './scopes.ts';

interface KeyAuthenticationOptions {
  /** Authenticates every request without a key. */
  readonly authenticate: Authenticate;
  readonly keys: LiveKeys;
  /** The path to the member of the user context in which roles stand. */
  readonly roleClaim: readonly string[];
}

/**
 * Authenticates callers by an API key, as bearer token or in `x-api-key`. All that begins like a key is one, and nobody else is asked about it. Every
 * refusal has the same text; the log names the failed check, in words that contain nothing of the key.
 */
export function withKeys({ authenticate, keys, roleClaim }: KeyAuthenticationOptions): Authenticate {
  return (ctx) => {
    const text = keyTextOf(ctx);
    return text === undefined ? authenticate(ctx) : byKey(ctx, text, { keys, roleClaim });
  };
}

/** Two headers count as none, as everywhere, and `x-api-key` counts where there is no `Authorization`. */
function keyTextOf(ctx: Context): string | undefined {
  const { authorization, 'x-api-key': keys } = ctx.req.headersDistinct;
  const text = authorization === undefined && keys?.length === 1 ? keys[0] : bearerOf(ctx);
  return text?.startsWith(apiKeyPrefix) ? text : undefined;
}

async function byKey(
  ctx: Context,
  text: string,
  { keys, roleClaim }: Omit<KeyAuthenticationOptions, 'authenticate'>,
): Promise<Principal> {
  const shown = readApiKey(text);
  if (!shown) throw refusal('misspelt');
  const key = await keys.find(shown.id);
  // Also where there is none: who measures it learns no ids.
  const isRight = isSameHash(shown.secretHash, key ? Buffer.from(key.secretHash, 'hex') : noHash);
  if (!key || !isRight) throw refusal(key ? 'its secret is wrong' : 'unknown or revoked');
  enter(ctx, key, keys);
  keys.noteUse(key);
  const principal = principalOf(userOf(key, roleClaim));
  if (!principal) throw refusal('of no user');
  return principal;
}

const noHash = Buffer.alloc(32);

/**
 * Lets a request in by a key: its connection ends when the key is revoked or expires, whatever it is doing.
 * @throws Unauthenticated for a key that has expired
 */
function enter(ctx: Context, key: KeptKey, keys: LiveKeys): void {
  if (key.expiresAt <= Date.now()) throw refusal('expired');
  ctx.state.expiresAt = key.expiresAt;
  const { res, req } = ctx;
  const held = keys.hold(key, () => req.socket.destroy());
  if (res.closed) held[Symbol.dispose]();
  else res.once('close', () => held[Symbol.dispose]());
}

/** Lets a request in whose ticket was made with a key. @throws Unauthenticated when the key is revoked or has expired; Unavailable */
export const enterByKey =
  (keys: LiveKeys) =>
  async (ctx: Context, keyId: string): Promise<void> => {
    const key = await keys.find(keyId);
    if (!key) throw refusedTicket();
    enter(ctx, key, keys);
  };

export const refusedTicket = (): ServiceError => refusal('that of the ticket is unknown or revoked');

const userOf = ({ id, user, roles, scopes }: KeptKey, roleClaim: readonly string[]): Record<string, unknown> => ({
  ...(roleClaim.reduceRight<unknown>((value, name) => ({ [name]: value }), roles) as object),
  ...{ user_id: user, [keyClaims.id]: id, [keyClaims.scopes]: scopes },
});

const refusal = (check: string): ServiceError =>
  new ServiceError('Unauthenticated', 'the API key is not valid', { cause: new Error(`API key: ${check}`) });
