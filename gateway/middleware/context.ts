import type { ServiceError } from '@agent-workflow/kit/errors';
import type Koa from 'koa';

/** Who calls: the owner of all that the request makes, and the user context that nodes see. */
export interface Principal {
  readonly owner: string;
  readonly user?: Readonly<Record<string, unknown>>;
}

/** What the middleware of one request tells the next. */
export interface RequestState {
  requestId: string;
  principal: Principal;
  /** The parsed body, `undefined` when none was sent. */
  body?: Record<string, unknown> | undefined;
  params: unknown;
  input: unknown;
  /** What the request was refused with: for the log. */
  error?: ServiceError;
}

export type Context = Koa.ParameterizedContext<RequestState>;
export type Middleware = Koa.Middleware<RequestState>;
