import type { IncomingHttpHeaders } from 'node:http';
import type { ParsedUrlQuery } from 'node:querystring';

/** Who calls, as the backend or the token says: `user_id`, else `sub`, names the owner; nodes see all of it as `user`. */
export type UserContext = Readonly<Record<string, unknown>>;

/** What a backend answers: nothing means that the caller is not let in. */
export type Answer = UserContext | null | undefined;

/** The request as it came. */
export interface AuthRequest {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly path: string;
  readonly query: ParsedUrlQuery;
  /** The address that the connection came from. */
  readonly ip: string;
}

/** The reply that will be sent, to set headers and cookies on. */
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
 * A backend that says who calls. It is made once, without arguments, and asked on every request. The number of declared
 * parameters of `authenticate` decides what it is handed; it may be async.
 *
 * - `authenticate(request: AuthRequest)`: a user with `user_id` or `sub`; null or undefined refuses with 401.
 * - `authenticate(response: AuthResponse, credentials: Credentials | null)`: the same, and `{}` lets the caller go on
 *   as nobody in particular. `credentials` is null when the request carries no bearer token.
 *
 * A thrown error with a `status` of 400 to 499 is answered with it and its message; any other is 500 without its text.
 */
export abstract class BaseAuth {
  abstract authenticate(...given: [AuthRequest] | [AuthResponse, Credentials | null]): Answer | Promise<Answer>;
}

/** A backend that says what a caller may. */
export interface AuthorizationBackend {
  /**
   * Whether `user` may do `action` on `resource`; `user` is empty for a caller who did not sign in. Only `true` allows;
   * an error, or no answer in time, is 503.
   */
  readonly authorize: (user: UserContext, resource: string, action: string) => Promise<boolean>;
}
