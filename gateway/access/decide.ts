import { anonymousOwner, userIdOf } from '@agent-workflow/kit/ids';
import type { ForOperators } from '../http/access.ts';
import type { Principal } from '../http/context.ts';
import type { AccessRules, Recipient, Role, RoleName, ShareRight } from './rules.ts';

/** Whether a caller sees and answers a question. */
interface QuestionRequest {
  readonly kind: 'question';
  /** Of the run that asks. */
  readonly agent: string;
  readonly node: string;
  /** Names of roles, levels, and `*` for every signed-in caller; empty: the question is to the owner of the run. */
  readonly to: readonly string[];
  /** Whether the owner of the run may not answer, whatever roles they have. */
  readonly notOwner: boolean;
  readonly owner: string;
}

/** Whether a caller sees things of everybody, and stops and retries runs of everybody. */
interface AdminRequest extends ForOperators {
  readonly kind: 'admin';
}

/** Whether a caller reads or writes memories of a scope. */
interface KnowledgeRequest {
  readonly kind: 'knowledge';
  /** `own`, `agent:NAME` or `shared:NAME`. */
  readonly scope: string;
  readonly action: 'read' | 'write';
}

/** Whether a caller may use a thread that its owner has shared. */
interface ShareRequest {
  readonly kind: 'share';
  readonly action: ShareRight;
  readonly to: Recipient;
  readonly rights: readonly ShareRight[];
  /** When the share ends, in milliseconds since 1970; absent: never. */
  readonly until?: number | undefined;
  readonly now: number;
}

/** What a caller asks for that is not their own. */
export type AccessRequest = QuestionRequest | AdminRequest | KnowledgeRequest | ShareRequest;

/** Who asks. */
export interface Caller extends Pick<Principal, 'owner'> {
  readonly roles?: Principal['roles'] | undefined;
}

interface Held {
  readonly name: RoleName;
  readonly role: Role;
}

interface Asked<Request> {
  readonly rules: AccessRules;
  readonly caller: Caller;
  readonly request: Request;
}

/** A check of the caller, or of one of their roles. */
type CallerCheck<Request> = (asked: Asked<Request>) => boolean;
type RoleCheck<Request> = (held: Held, asked: Asked<Request>) => boolean;

/** All checks of the caller must hold, and all checks of a role for one of the caller's roles. */
interface ChecksOf<Request> {
  readonly caller: Readonly<Record<string, CallerCheck<Request>>>;
  readonly role: Readonly<Record<string, RoleCheck<Request>>>;
}

export type Checks = { readonly [R in AccessRequest as R['kind']]: ChecksOf<R> };

const isAdmin = ({ role }: Held): boolean => role.is === 'admin';

/** Whether a list names a role: by its name, by its level, or with everybody. */
const names = (list: readonly string[], { name, role }: Held): boolean =>
  list.includes(name) || list.includes(role.is) || list.includes('*');

const isSignedIn = ({ caller }: Asked<AccessRequest>): boolean => caller.owner !== anonymousOwner;

/** Every check, by name. */
export const checks: Checks = {
  question: {
    caller: {
      isSignedIn: (asked) => asked.request.to.length === 0 || isSignedIn(asked),
      isOwnIfToOwner: ({ caller, request }) => request.to.length > 0 || caller.owner === request.owner,
      isNotOwner: ({ caller, request }) => !request.notOwner || caller.owner !== request.owner,
    },
    role: {
      isNamed: (held, { request: { to } }) => to.length === 0 || isAdmin(held) || names(to, held),
      isOfAgent: ({ role }, { request: { agent } }) =>
        role.is !== 'approver' || role.agents === undefined || role.agents.includes(agent),
      isOfNode: ({ role }, { request: { node } }) =>
        role.is !== 'approver' || role.nodes === undefined || role.nodes.includes(node),
    },
  },
  admin: {
    caller: { isSignedIn },
    role: {
      isOperator: (held) => isAdmin(held) || held.role.is === 'operator',
      readsContents: (held, { request }) =>
        !request.contents || isAdmin(held) || (held.role.is === 'operator' && held.role.reads === 'contents'),
      isAdminForAudit: (held, { request }) => request.what !== 'audit' || isAdmin(held),
    },
  },
  knowledge: {
    caller: { isSignedIn: (asked) => asked.request.scope === 'own' || isSignedIn(asked) },
    role: {
      isListed: (held, { rules, request: { scope, action } }) => {
        if (scope === 'own' || isAdmin(held)) return true;
        const { read = [], write = [] } = rules.knowledge.get(scope) ?? {};
        return names(write, held) || (action === 'read' && names(read, held));
      },
    },
  },
  share: {
    caller: {
      isSignedIn,
      isInTime: ({ request: { until = Infinity, now } }) => now < until,
      hasRight: ({ request: { action, rights } }) => rights.includes(action),
    },
    role: {
      isRecipient: (held, { caller, request: { to } }) =>
        'everybody' in to || ('user' in to ? to.user === userIdOf(caller.owner) : to.role === held.name),
    },
  },
};

/**
 * Makes the decision from checks.
 * @returns whether a caller may do what the request says. Nothing else lets a caller at what is not their own.
 */
export function decideBy({ question, admin, knowledge, share }: Checks) {
  return (rules: AccessRules, caller: Caller, request: AccessRequest): boolean => {
    if (!rules.signsIn) return inTheOpen(rules, caller, request);
    switch (request.kind) {
      case 'question':
        return holds(question, { rules, caller, request });
      case 'admin':
        return holds(admin, { rules, caller, request });
      case 'knowledge':
        return holds(knowledge, { rules, caller, request });
      case 'share':
        return holds(share, { rules, caller, request });
    }
  };
}

/** Whether a caller may do what the request says, which is about things that are not only their own. */
export const decide = decideBy(checks);

/** Where nobody signs in, all callers are one owner: every question to that owner's runs, and all knowledge that is declared, is theirs. */
function inTheOpen(rules: AccessRules, caller: Caller, request: AccessRequest): boolean {
  switch (request.kind) {
    case 'question':
      return caller.owner === request.owner;
    case 'admin':
    case 'share':
      return false;
    case 'knowledge':
      return request.scope === 'own' || request.scope.startsWith('agent:') || rules.knowledge.has(request.scope);
  }
}

const holds = <Request>({ caller, role }: ChecksOf<Request>, asked: Asked<Request>): boolean =>
  Object.values(caller).every((check) => check(asked)) &&
  heldBy(asked).some((held) => Object.values(role).every((check) => check(held, asked)));

/** Every caller is a user. */
const everyUser: Held = { name: 'user', role: { is: 'user' } };

const heldBy = <Request>({ rules, caller }: Asked<Request>): readonly Held[] => [
  everyUser,
  ...(caller.roles ?? []).flatMap((name): readonly Held[] => {
    const role = rules.roles.get(name);
    return role ? [{ name, role }] : [];
  }),
];
