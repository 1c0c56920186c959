import type { Context } from './context.ts';
import type { Principal } from './principal.ts';

/** What the authorization backend decides about. */
export interface Access {
  readonly resource: 'graph' | 'checkpointer' | 'store' | 'files';
  readonly action: string;
}

/** The principal of a request. @throws Unauthenticated when the caller cannot be identified. */
export type Authenticate = (ctx: Context) => Principal | Promise<Principal>;

/** Whether this principal may do `action` on `resource`. */
export type Authorize = (principal: Principal, resource: string, action: string) => Promise<boolean>;

/** The paths that need no authentication: they hold no data of any owner. */
export const openPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/openapi.json']);

/** Below it are addresses of files: the rest of the path authenticates its reader. */
export const fileAddresses = '/files/';
