import type { Context } from './context.ts';
import type { Principal } from './principal.ts';

/** What the authorization backend is asked about. */
export interface Access {
  readonly resource: 'graph' | 'checkpointer' | 'store' | 'files';
  readonly action: string;
}

/** Tells who calls, or throws `Unauthenticated`. */
export type Authenticate = (ctx: Context) => Principal | Promise<Principal>;

/** Whether this principal may do `action` on `resource`. */
export type Authorize = (principal: Principal, resource: string, action: string) => Promise<boolean>;

/** The paths that anyone may read: they say nothing of any owner. */
export const openPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/openapi.json']);
