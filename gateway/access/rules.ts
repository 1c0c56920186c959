/** What roles are for, from the least: their own things, answers to questions, everybody's runs and threads, everything. */
export const levels = ['user', 'approver', 'operator', 'admin'] as const;

export type Level = (typeof levels)[number];

/** The name that the operator gives a role; callers have it in a claim. */
export type RoleName = string;

/** What callers with a role may do beside what every signed-in caller may. */
export type Role =
  | { readonly is: 'user' | 'admin' }
  /** Absent agents or nodes: all. */
  | { readonly is: 'approver'; readonly agents?: readonly string[]; readonly nodes?: readonly string[] }
  /** Without `reads` contents are masked. */
  | { readonly is: 'operator'; readonly reads?: 'contents' };

/**
 * Who reads and writes a scope of knowledge: names of roles, levels, `*` for every signed-in caller, and `agent:NAME` for the runs of an agent,
 * of any owner. Who writes also reads.
 */
export interface KnowledgeRule {
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** What a share lets its recipients do. */
export const shareRights = ['read', 'write', 'answer'] as const;

export type ShareRight = (typeof shareRights)[number];

/** Whom a thread is shared with: a user, all who have a role, or everybody who is signed in. */
export type Recipient = { readonly user: string } | { readonly role: RoleName } | { readonly everybody: true };

/** `access` of `service.json`. */
export interface AccessRules {
  /** The members of the user context that list the caller's roles, each as the path to it. */
  readonly claims: readonly (readonly string[])[];
  readonly roles: ReadonlyMap<RoleName, Role>;
  /** By scope: `shared:NAME` or `agent:NAME`. */
  readonly knowledge: ReadonlyMap<string, KnowledgeRule>;
  /** Whether callers authenticate. Where they do not, all are one owner, to whom no question is foreign. */
  readonly signsIn: boolean;
}

const agentPrefix = 'agent:';

/** The agent whose runs an entry of a list stands for; `undefined` for one of callers. */
export const agentListed = (listed: string): string | undefined =>
  listed.startsWith(agentPrefix) ? listed.slice(agentPrefix.length) : undefined;

/** Nobody has a role. */
export const noRoles: AccessRules = { claims: [], roles: new Map(), knowledge: new Map(), signsIn: true };
