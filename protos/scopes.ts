// The scopes of memories: `own` is what each owner has for itself, `agent:NAME` what the runs of an agent share, `shared:NAME` what the operator has
// declared. Names are as those of agents.

/** What an owner has for itself. */
export const ownScope = 'own';

/** What the runs of an agent share. */
export const scopeOfAgent = (agent: string): string => `agent:${agent}`;

/** How scopes are written, as a regular expression. */
export const scopePattern = '^(own|(agent|shared):[a-z][a-z0-9-]{0,62})$';

const scopeText = new RegExp(scopePattern, 'u');

/** Whether a text names a scope. */
export const isScope = (text: string): boolean => scopeText.test(text);

/** Why a text is refused that names none. */
export const mustBeScope =
  'must be own, agent:NAME or shared:NAME, the name 1 to 63 of a-z, 0-9 and "-", the first a letter';

/** The most scopes that one search asks. */
export const mostScopes = 8;
