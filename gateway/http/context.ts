import type { ServiceError } from '@agent-workflow/kit/errors';
import type Koa from 'koa';
import type { Principal } from './principal.ts';

/** What a body counts for among the bytes that the edge holds. */
export interface Room {
  /** The body has been read, and came to so many bytes. */
  readonly resize: (bytes: number) => void;
}

/** What the middleware of one request tells the next. */
export interface RequestState {
  requestId: string;
  /** Headers of the reply, whatever it will be: names and values in turn. */
  headers: string[];
  principal: Principal;
  /** The caller was let in by a ticket: what it may was asked when the ticket was made. */
  byTicket?: true;
  /** What koa-jwt verified. */
  claims?: Readonly<Record<string, unknown>>;
  /** The parsed body, `undefined` when none was sent. */
  body?: Record<string, unknown> | undefined;
  /** What the body counts for, where one is sent. */
  bodyRoom?: Room;
  params: unknown;
  input: unknown;
  /** The row of the table that the request is for, once that is known, where anyone wants to know. */
  route?: { readonly name: string; readonly path: string; readonly isStream: boolean };
  /** What stands beside message, id and time in the `metadata` of the reply. */
  replyMetadata?: Readonly<Record<string, unknown>>;
  /** What the request was refused with: for the log. */
  error?: ServiceError;
}

export type Context = Koa.ParameterizedContext<RequestState>;
export type Middleware = Koa.Middleware<RequestState>;
