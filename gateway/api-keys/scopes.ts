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

/**
 * Refuses what is beyond the scopes of a caller's key, and leaves the rest to `authorize`. The scopes are part of the user context, so that they also
 * bound what is done later in the caller's name.
 */
export function withinScopes(authorize: Authorize | undefined): Authorize {
  const scoped: Authorize = (principal, resource, action, subject) => {
    if (!allows(principal.user, resource, action)) return Promise.resolve(false);
    return authorize ? authorize(principal, resource, action, subject) : Promise.resolve(true);
  };
  return Object.assign(scoped, { needsAgent: authorize?.needsAgent ?? false });
}

function allows(user: Principal['user'], resource: string, action: string): boolean {
  if (!user || !Object.hasOwn(user, keyClaims.scopes)) return true;
  const scopes = user[keyClaims.scopes];
  return Array.isArray(scopes) && isWithin(scopes, resource, action);
}
