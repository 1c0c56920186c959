import type { ServiceError } from '@agent-workflow/kit/errors';
import type Koa from 'koa';
import type { Dialect, RpcState } from './dialect.ts';

/** The authenticated caller: the owner of everything that the request creates, and the user context that nodes see. */
export interface Principal {
  readonly owner: string;
  readonly user?: Readonly<Record<string, unknown>>;
  /** Names of roles of `service.json`; absent where there are none. */
  readonly roles?: readonly string[];
}

/** The bytes that a body reserves of the bound on bytes in flight. */
export interface Reservation {
  /** Changes the reservation to the true size of the body. */
  readonly resize: (bytes: number) => void;
}

/** What the middleware of one request hands to the next. */
export interface RequestState {
  /** In which the request is answered. */
  dialect: Dialect;
  requestId: string;
  /** Headers of every reply to this request, a refusal too: names and values in turn. */
  headers: string[];
  principal: Principal;
  /** The caller was authenticated by a ticket: it was authorized when the ticket was made. */
  byTicket?: true;
  /** When the credentials of the caller expire, in milliseconds since 1970; absent: they do not, or it is not known. */
  expiresAt?: number;
  /** The path was the address of a file, and this its secret part. */
  fileToken?: string;
  /** The file that the address gives. */
  addressed?: { readonly owner: string; readonly fileId: string; readonly shareId?: string };
  /** What koa-jwt verified. */
  claims?: Readonly<Record<string, unknown>>;
  /** The parsed body, `undefined` when none was sent. */
  body?: Record<string, unknown> | undefined;
  /** Of a request with a body. */
  bodyReservation?: Reservation;
  /** The call of JSON-RPC that the request is. */
  rpc?: RpcState;
  /** The input of the row that JSON-RPC has called, in place of body and query. */
  called?: Record<string, unknown> | undefined;
  params: unknown;
  input: unknown;
  /** The agent for which the caller was authorized; absent where that does not depend on the agent. */
  agent?: string | undefined;
  /** The row that the request matched: for metrics and spans. */
  route?: { readonly name: string; readonly path: string; readonly isStream: boolean };
  /** The status of its reply, where the handler has set one. */
  replyStatus?: number;
  /** Further entries of the reply's `metadata`, beside request id and timestamp; `message` takes the place of the usual one. */
  replyMetadata?: Readonly<Record<string, unknown>>;
  /** It was refused because the process holds as many bytes as it may, which is no fault of the process. */
  isOverload?: true;
  /** Why the request was refused: for the log. */
  error?: ServiceError;
}

export type Context = Koa.ParameterizedContext<RequestState>;
export type Middleware = Koa.Middleware<RequestState>;
