import { defaultAgent } from '@agent-workflow/kit/agents';
import { isServiceError, ServiceError, stale, type ErrorCode } from '@agent-workflow/kit/errors';
import type { GrantedRun, Grants } from '../grants.ts';
import { knowledgeOf } from '../knowledge.ts';
import type { PoolRule } from '../pools.ts';
import { poolOfToken } from '../refusals.ts';
import type { ClaimedRun, RegisteredAgent, RenewGrantReply } from '../threads.ts';
import { fail, type Method } from './link.ts';
import type { PoolLimiting } from './pool-limits.ts';
import { foreignScope, knowledgeOfClaimed, type Scoped } from './pool-scopes.ts';

/** A pool of workers, and the agents whose runs it may have. */
export interface Pool {
  readonly name: string;
  readonly agents: ReadonlySet<string>;
}

/** Who makes a call: a process of the platform, or a worker of a pool. */
export type Caller = Pool | 'platform';

/** Why a call of a pool was refused: what it may never call, another agent, or a grant that is absent or of something else. */
type RefusalReason = 'never' | 'agent' | 'grant';

interface Refusal {
  readonly pool: string;
  /** The context and its method: `threads.commitStep`. */
  readonly method: string;
  readonly reason: RefusalReason;
  readonly why: string;
}

/** What a server knows of pools. */
export interface PoolAccess {
  /** The pool whose token has this SHA-256, as hexadecimal digits. */
  readonly poolOf: (sha256: string) => Pool | undefined;
  /** Absent: no grant is given, and none is good. */
  readonly grants?: Grants | undefined;
  readonly onRefused: (refusal: Refusal) => void;
  /** Called with each call that was allowed and is refused for what its request holds. */
  readonly onMisfit: (misfit: Misfit) => void;
  /** How much of this process a pool may take; absent: any. */
  readonly limiting?: PoolLimiting | undefined;
}

/** A call of a pool whose request is Invalid or TooLarge. */
interface Misfit {
  readonly pool: string;
  /** The context and its method: `threads.registerRevision`. */
  readonly method: string;
  readonly error: ServiceError;
}

/** One call of a pool as it came in. */
interface PoolCall {
  readonly caller: Caller | undefined;
  /** What it shows as the grant of its run. */
  readonly grant: string | undefined;
  readonly request: object;
}

/** Does the work of a call that is allowed, and fails as PermissionDenied in place of any other. */
type Gate = (call: PoolCall, work: () => ReturnType<Method>) => ReturnType<Method>;

/** What decides about the calls of one RPC, whose name has its context: `threads.commitStep`. */
export function createPoolGate(method: string, rule: PoolRule, access: PoolAccess | undefined): Gate {
  const givesGrant = gives[method];
  const name = method === namesPool ? withPool : (reply: ReturnType<Method>) => reply;
  return ({ caller, grant: token, request }, work) => {
    if (caller === 'platform') return work();
    // A caller that is not known does not come here.
    if (!caller || !access) return fail(denied('the caller is not known'));
    const grant = token === undefined ? undefined : access.grants?.read(token);
    const isUnread = token !== undefined && !grant;
    const found = refusalOf({ method, rule, request, caller, grant, isUnread, isExpired: access.grants?.isExpired });
    if (found) {
      access.onRefused({ ...found, pool: caller.name, method });
      return name(fail(denied(`pool "${caller.name}" may not call ${method}: ${found.why}`)), caller);
    }
    const reply = name(work(), caller);
    // Pools may call no method that streams.
    if (reply instanceof Promise)
      reply.catch((error: unknown) => {
        if (isMisfit(error)) access.onMisfit({ pool: caller.name, method, error });
      });
    if (!givesGrant || !access.grants) return reply;
    return givesGrant(reply as Promise<never>, { request, caller, grant, grants: access.grants });
  };
}

const misfits: ReadonlySet<ErrorCode> = new Set(['Invalid', 'TooLarge']);
const isMisfit = (error: unknown): error is ServiceError => isServiceError(error) && misfits.has(error.code);

const denied = (message: string): ServiceError => new ServiceError('PermissionDenied', message);

interface Asked {
  readonly method: string;
  readonly rule: PoolRule;
  readonly request: NamedRun & Scoped & { readonly agent?: string };
  readonly caller: Pool;
  readonly grant: GrantedRun | undefined;
  /** Whether it shows something that is no grant here. */
  readonly isUnread: boolean;
  readonly isExpired: Grants['isExpired'] | undefined;
}

type NamedRun = Partial<Pick<GrantedRun, 'owner' | 'threadId' | 'runId' | 'epoch'>>;

function refusalOf({
  method,
  rule,
  request,
  caller,
  grant,
  isUnread,
  isExpired,
}: Asked): Pick<Refusal, 'reason' | 'why'> | undefined {
  switch (rule) {
    case 'never':
      return { reason: 'never', why: 'no pool may' };
    case 'agent': {
      const { agent = defaultAgent } = request;
      return caller.agents.has(agent)
        ? undefined
        : { reason: 'agent', why: `the agent "${agent}" is not one of its own` };
    }
    case 'run':
    case 'run, also expired': {
      const why = misfitOf(request, caller, grant);
      if (why !== undefined || !grant) return { reason: 'grant', why: isUnread ? unreadGrant : (why ?? noGrant) };
      const isLate = rule === 'run' && isExpired?.(grant) !== false;
      if (isLate) return { reason: 'grant', why: lateGrant };
      const scope = foreignScope(method, request, grant);
      return scope === undefined
        ? undefined
        : { reason: 'grant', why: `its run may not do so in the scope "${scope}"` };
    }
  }
}

const noGrant = 'it shows no grant of a run, as a worker with the token of a pool does where POOL is set';
const unreadGrant = 'what it shows was not signed with the GRANT_SECRET that is known here';
const lateGrant = 'the grant has expired, or the clocks of two processes are more than 10 seconds apart';

const names = { owner: 'owner', threadId: 'thread', runId: 'run', epoch: 'claim' } as const satisfies Record<
  keyof NamedRun,
  string
>;

/** Why a grant is none for a request. A request that names no thread is bound by its owner, and so on. */
function misfitOf(request: NamedRun, pool: Pool, grant: GrantedRun | undefined): string | undefined {
  if (!grant) return noGrant;
  if (grant.pool !== pool.name) return 'the grant is of another pool';
  if (!pool.agents.has(grant.agent)) return `the agent "${grant.agent}" is no longer one of its own`;
  for (const [field, name] of Object.entries(names) as [keyof NamedRun, string][]) {
    if (request[field] !== undefined && request[field] !== grant[field]) return `the grant is of another ${name}`;
  }
  return undefined;
}

interface Giving {
  readonly request: object;
  readonly caller: Pool;
  readonly grant: GrantedRun | undefined;
  readonly grants: Grants;
}

/** The RPCs whose replies have a grant. */
const gives: Readonly<Record<string, (reply: Promise<never>, giving: Giving) => Promise<object>>> = {
  'threads.claimRun': async (reply: Promise<ClaimedRun>, { request, caller, grants }) => {
    const claimed = await reply;
    const { owner } = request as { readonly owner: string };
    const { threadId, runId, epoch, agent = defaultAgent, otherAgent } = claimed;
    // Of a run of another agent nothing was claimed, and a pool gets to know no more than that.
    if (!caller.agents.has(otherAgent ?? agent)) throw stale(`run "${runId}" is not of an agent of this pool`);
    const isLeft = otherAgent !== undefined || claimed.otherRevision !== undefined || claimed.lastClaim === true;
    if (isLeft) return claimed;
    const knowledge = knowledgeOf({ knowledge: knowledgeOfClaimed(claimed), agent });
    const scopes = Object.keys(knowledge).length > 0 ? { knowledge } : {};
    return { ...claimed, grant: grants.issue({ owner, threadId, runId, epoch, agent, pool: caller.name, ...scopes }) };
  },
  'threads.renewGrant': async (reply: Promise<RenewGrantReply>, { grant, grants }) => {
    await reply;
    if (!grant) throw denied(noGrant);
    const { until: _until, ...granted } = grant;
    return { grant: grants.issue(granted) };
  },
};

/** The RPC that says which pool the token of its caller is of, also where it fails: a worker compares its setting with that at its start. */
const namesPool = 'threads.getRegisteredAgent';

function withPool(reply: ReturnType<Method>, { name }: Pool): ReturnType<Method> {
  const named = async (): Promise<RegisteredAgent> => {
    try {
      return { ...((await reply) as RegisteredAgent), pool: name };
    } catch (error) {
      if (!isServiceError(error)) throw error;
      const { code, message, details, retryAfterMs, cause } = error;
      const detail = { field: [], msg: name, type: poolOfToken };
      throw new ServiceError(code, message, {
        details: [...details, detail],
        cause,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      });
    }
  };
  return named();
}
