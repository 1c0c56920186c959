import type { Authorize } from '../http/access.ts';
import type { Principal } from '../http/context.ts';

/** The members of a user context that say by which key the caller has come, and what that may do. */
export const keyClaims = { id: 'api_key_id', scopes: 'api_key_scopes' } as const;

/** The id of the key by which the caller has come, for a ticket; nothing for any other caller. */
export function ofKey(user: Principal['user']): { readonly keyId?: string } {
  const id = user && Object.hasOwn(user, keyClaims.id) ? user[keyClaims.id] : undefined;
  return typeof id === 'string' ? { keyId: id } : {};
}

/** What a key may do that has these scopes: `resource:action`, all of a `resource`, or `*` for everything. */
const isWithin = (scopes: readonly unknown[], resource: string, action: string): boolean =>
  scopes.some((scope) => scope === '*' || scope === resource || scope === `${resource}:${action}`);

interface KeyBounds {
  /** Absent: every caller may do everything. */
  readonly authorize: Authorize | undefined;
  /** Whether the key with this id counts. @throws Unavailable */
  readonly isLive: (id: string) => Promise<boolean>;
}

/**
 * Refuses what is beyond the scopes of a caller's key, or comes when that counts no more, and leaves the rest to `authorize`. Id and scopes are part of
 * the user context, so that they also bound what is done later in the caller's name, as by a schedule.
 */
export function withinScopes({ authorize, isLive }: KeyBounds): Authorize {
  const scoped: Authorize = async (principal, resource, action, subject) => {
    const { user } = principal;
    if (!allows(user, resource, action)) return false;
    const { keyId } = ofKey(user);
    if (keyId !== undefined && !(await isLive(keyId))) return false;
    return authorize ? authorize(principal, resource, action, subject) : true;
  };
  return Object.assign(scoped, { needsAgent: authorize?.needsAgent ?? false });
}

function allows(user: Principal['user'], resource: string, action: string): boolean {
  if (!user || !Object.hasOwn(user, keyClaims.scopes)) return true;
  const scopes = user[keyClaims.scopes];
  return Array.isArray(scopes) && isWithin(scopes, resource, action);
}
