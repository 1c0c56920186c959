import { invalid } from '@agent-workflow/kit/errors';
import { isScope, mostScopes, mustBeScope, ownScope } from '@agent-workflow/protos/scopes';

/** Where a store keeps the memories of one scope. */
export interface Space {
  readonly scope: string;
  /** The owner as the store knows it. */
  readonly owner: string;
}

interface Scoped {
  readonly owner: string;
  readonly scope?: string;
}

/**
 * The owner under which a store keeps the memories of a scope: one that is not the caller's own is kept as if it were an owner. No caller has
 * this key, since those of users begin otherwise. @throws Invalid at `scope` for a text that names none.
 */
export function ownerOfScope({ owner, scope = ownScope }: Scoped): string {
  if (scope !== ownScope && !isScope(scope)) throw invalid(['scope'], mustBeScope, 'string_pattern_mismatch');
  return ownerIn(owner, scope);
}

const ownerIn = (owner: string, scope: string): string => (scope === ownScope ? owner : `scope ${scope}`);

/** The spaces of the scopes that a search asks, each of them once. @throws Invalid at the scope that is wrong. */
export function spacesOf({
  owner,
  scopes = [],
}: {
  readonly owner: string;
  readonly scopes?: readonly string[];
}): Space[] {
  const asked = new Set(scopes.length === 0 ? [ownScope] : scopes);
  if (asked.size > mostScopes)
    throw invalid(['scopes'], `must not name more than ${String(mostScopes)} scopes`, 'too_long');
  return [...asked].map((scope, index) => {
    if (scope !== ownScope && !isScope(scope)) throw invalid(['scopes', index], mustBeScope, 'string_pattern_mismatch');
    return { scope, owner: ownerIn(owner, scope) };
  });
}
