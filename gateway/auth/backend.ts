import type { IncomingHttpHeaders } from 'node:http';
import type { ParsedUrlQuery } from 'node:querystring';

/** The caller, from the token or the backend: `user_id`, else `sub`, is the owner; nodes see the whole object as `user`. */
export type UserContext = Readonly<Record<string, unknown>>;

/** The result of a backend: null and undefined refuse the caller. */
export type Answer = UserContext | null | undefined;

/** The incoming request, as a copy of the backend's own. */
export interface AuthRequest {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly path: string;
  readonly query: ParsedUrlQuery;
  /** The remote address of the connection. */
  readonly ip: string;
}

/** The reply to the request, for setting headers and cookies. */
export interface AuthResponse {
  readonly set: (name: string, value: string) => void;
  readonly cookies: { readonly set: (name: string, value: string, options?: CookieOptions) => unknown };
}

export interface CookieOptions {
  /** Milliseconds. */
  readonly maxAge?: number;
  readonly path?: string;
  readonly domain?: string;
  readonly secure?: boolean;
  readonly httpOnly?: boolean;
  readonly sameSite?: 'strict' | 'lax' | 'none';
}

/** The bearer token of a request. */
export interface Credentials {
  readonly scheme: 'Bearer';
  readonly credentials: string;
}

/**
 * A backend that authenticates callers. One instance is made, without arguments, and `authenticate` is called for every request.
 * The number of its declared parameters decides what it gets; it may be async.
 *
 * - `authenticate(request: AuthRequest)`: a user with `user_id` or `sub`; null or undefined refuses with 401.
 * - `authenticate(response: AuthResponse, credentials: Credentials | null)`: the same, and `{}` accepts the caller as the
 *   anonymous owner. `credentials` is null when the request has no bearer token.
 *
 * A thrown error with a `status` of 400 to 499 is answered with that status and its message; any other with 500 and without it.
 */
export abstract class BaseAuth {
  abstract authenticate(...given: [AuthRequest] | [AuthResponse, Credentials | null]): Answer | Promise<Answer>;
}

/** What a request is about: a thread that it names, and the agent that it runs, reads or names, or that its thread belongs to. */
export interface Subject {
  readonly agent?: string;
  readonly thread_id?: string;
}

/** A backend that authorizes callers. */
export interface AuthorizationBackend {
  /**
   * Whether `user` may do `action` on `resource`; `user` is `{}` for an anonymous caller. Only `true` allows; an error or a
   * timeout is answered with 503. `subject` is given where `needsAgent` is true.
   */
  readonly authorize: (user: UserContext, resource: string, action: string, subject?: Subject) => Promise<boolean>;
  /** Whether it decides by agent or thread. Then it is asked after the request is read and found valid, and not before. */
  readonly needsAgent?: boolean;
}
