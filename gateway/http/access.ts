import { anonymousOwner } from '@agent-workflow/kit/ids';
import type { Context, Principal } from './context.ts';

/** What the authorization backend decides about. */
export interface Access {
  readonly resource:
    | 'graph'
    | 'questions'
    | 'checkpointer'
    | 'store'
    | 'files'
    | 'agents'
    | 'assistants'
    | 'triggers'
    | 'schedules'
    | 'webhooks'
    | 'admin';
  readonly action: string;
}

/** What belongs to others, and is for callers whose roles let them at it. */
export interface ForOperators {
  readonly what: 'runs' | 'threads' | 'questions' | 'audit';
  /** Whether with messages, states, inputs, values of questions and results. */
  readonly contents: boolean;
}

/** The principal of a request. @throws Unauthenticated when the caller cannot be identified. */
export type Authenticate = (ctx: Context) => Principal | Promise<Principal>;

export const anonymous: Principal = { owner: anonymousOwner };

/** Every caller is the anonymous owner. */
export const withoutAuthentication: Authenticate = () => anonymous;

/** What a request is about, as far as it is about an agent or a thread. */
export interface Subject {
  readonly agent?: string;
  readonly thread_id?: string;
}

/** Decides what callers may do. */
export interface Authorize {
  /** Whether this principal may do `action` on `resource`. */
  (principal: Principal, resource: string, action: string, subject?: Subject): Promise<boolean>;
  /** It decides by the subject, too, and is asked once the request is read. */
  readonly needsAgent?: boolean;
}

/** The paths that need no authentication: they hold no data of any owner. */
export const openPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/openapi.json']);

/** Whether a path is that of a signed event, whose signature its endpoint checks: it has no credentials. */
export const isOfEvents = (path: string): boolean => path.endsWith('/events') && path.startsWith('/v1/triggers/');

/** Where clients of A2A look for what an agent says of itself. */
export const agentCardPath = '/.well-known/agent-card.json';

/** Whether a path is that of the card of an agent, which describes to everybody how it is called: it needs no authentication. */
export const isOfCard = (path: string): boolean =>
  path === agentCardPath ||
  (path.endsWith(agentCardPath) && /^\/a2a\/[^/]+$/.test(path.slice(0, -agentCardPath.length)));

/** Where clients of MCP look for how callers authenticate. */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource';

/** Whether a path is that of what callers need to authenticate (RFC 9728). */
export const isOfResource = (path: string): boolean =>
  path === resourceMetadataPath || path.startsWith(`${resourceMetadataPath}/`);

/** Below it are addresses of files: the rest of the path authenticates its reader. */
export const fileAddresses = '/files/';
