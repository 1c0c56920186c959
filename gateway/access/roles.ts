import type { Authenticate } from '../http/access.ts';
import type { Principal } from '../http/context.ts';
import type { AccessRules, RoleName } from './rules.ts';

/** The roles that a user context gives, in the order of the rules. Names that the rules do not have count for nothing. */
function rolesOf(user: Principal['user'], { claims, roles }: AccessRules): readonly RoleName[] {
  if (!user || roles.size === 0) return [];
  const named = new Set(claims.flatMap((path) => textsOf(memberAt(user, path))));
  return [...roles.keys()].filter((name) => named.has(name));
}

/** Authenticates as `authenticate` does, and gives the principal its roles. Where there are none to have it is `authenticate` itself. */
export function withRoles(authenticate: Authenticate, rules: AccessRules): Authenticate {
  if (!rules.signsIn || rules.roles.size === 0) return authenticate;
  const enter = (principal: Principal): Principal => {
    const roles = rolesOf(principal.user, rules);
    return roles.length === 0 ? principal : { ...principal, roles };
  };
  return (ctx) => {
    const principal = authenticate(ctx);
    return principal instanceof Promise ? principal.then(enter) : enter(principal);
  };
}

/** Own members only: what a package adds to the prototype of all objects is nobody's role. */
const memberAt = (user: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    user,
  );

const textsOf = (claim: unknown): readonly unknown[] => (Array.isArray(claim) ? claim : [claim]);
