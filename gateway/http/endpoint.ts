import type { Call } from '@agent-workflow/protos/call';
import type { FollowRequest, RunEvents } from '@agent-workflow/protos/execution';
import type { TSchema } from 'typebox';
import type { Access, ForOperators } from './access.ts';
import type { RpcState } from './dialect.ts';
import type { FileContent } from './content.ts';
import type { StreamEvents } from './framing.ts';
import type { IncomingFile } from './form.ts';
import type { JsonParts } from './json.ts';
import type { ReceivedBytes } from './received-bytes.ts';
import type { Principal } from './context.ts';
import type { SocketReply } from './talk.ts';

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof methods)[number];

export interface Route {
  readonly method: Method;
  /** With `{name}` for a parameter. */
  readonly path: string;
}

/** What an endpoint is: its routes, authorization and validation are made from it. */
export interface Row extends Route {
  /** In metrics and spans: no other row of any dialect has it. */
  readonly name: string;
  /** Further routes to the same endpoint. */
  readonly aliases: readonly Route[];
  /** What the authorization backend is asked. It has no default, so that no row is open because it was forgotten. */
  readonly access: Access | 'every caller';
  /** It is about what belongs to others: only for callers whose roles let them at it. */
  readonly forOperators?: ForOperators;
  readonly params?: TSchema;
  readonly input?: TSchema;
  /** The body is a form with one file, and not JSON: the handler gets it by `receiveFile`. */
  readonly takesFile?: true;
  /** `data`: in the envelope. `bare`: without it. `events`: a stream. `content`: the bytes of a file. `socket`: a WebSocket. */
  readonly answer: 'data' | 'bare' | 'events' | 'content' | 'socket';
  /** Although it does not answer with events otherwise, it does for this input. */
  readonly mayStream?: (input: never) => boolean;
  /** The HTTP status of a success; 204 has no body, whatever the handler gives. */
  readonly status: number;
  /** The body is bytes with a signature, at most so many, and not JSON: the handler gets them by `received`, and checks who sent them. */
  readonly takesBytes?: number;
  /** The body is a list, and the input has it under this name. */
  readonly listBody?: string;
  /** The input comes from the query, too, as that of a DELETE does. */
  readonly takesQuery?: true;
  /** It starts a run, whose id is made from an `Idempotency-Key`. */
  readonly startsRun?: boolean;
  /** For other inputs it starts none: an `Idempotency-Key` means nothing there, and a reply that is stored may name no run. */
  readonly mayStartRun?: (input: never) => boolean;
  /** Although it has a body it changes nothing. */
  readonly isRead?: true;
  /** The thread of its path need not be there yet. */
  readonly mayBeAhead?: true;
  /** What the authorization backend is asked besides, for what the input asks for. No ticket gives it. */
  readonly alsoAccess?: (input: never) => Access | readonly Access[] | undefined;
  /** It is about what belongs to another owner than the caller. */
  readonly isOfOthers?: true;
  /** It is about an agent: the one that it names, else the default. */
  readonly isOfAgent?: true;
  /** A ticket is accepted in place of credentials. */
  readonly takesTicket?: true;
  /** The reply continues after the event that a `Last-Event-ID` header names. Without this the handler is not given the header. */
  readonly takesLastEventId?: true;
  /** The reply is a secret and is stored nowhere: a repeated request is done again. */
  readonly secret?: true;
}

/** What the authorization backend is asked before a request of this row; `undefined`: nothing. */
export const accessOf = ({ access }: Pick<Row, 'access'>): Access | undefined =>
  access === 'every caller' ? undefined : access;

/** Whether a request to a row changes something; an alias is a read or a change as its row is. */
export const changes = (row: Row): boolean => row.method !== 'GET' && !row.isRead && accessOf(row)?.action !== 'read';

/**
 * Whether an `Idempotency-Key` is read. A reply that is secret is not stored, so that a key could not repeat it; of an upload the body
 * is not held, so that it could not be compared.
 */
export const takesIdempotencyKey = (row: Row): boolean =>
  changes(row) && !row.secret && !row.takesFile && row.takesBytes === undefined;

/** One request, authenticated and validated, as the handler of its endpoint gets it. */
export interface EndpointRequest<Params = unknown, Input = unknown> {
  readonly params: Params;
  /** The query of a GET, the body of a POST, PUT or PATCH, either of a DELETE. */
  readonly input: Input;
  readonly owner: string;
  /** Who sends it, where that is not the owner: it is about a thread that the owner has shared. Nodes see the sender as the user. */
  readonly sender?: string;
  /** Whether what the thread asks stays: the sender may not answer for the owner. */
  readonly keepsQuestions?: boolean;
  /** The id of the share by which it is sent, where there is one, and when that ends. */
  readonly shareId?: string;
  readonly shareUntil?: number | undefined;
  readonly user: Principal['user'];
  /** Names of roles of the caller; absent where there are none. */
  readonly roles?: Principal['roles'];
  /** The name of the dialect in which it came. */
  readonly dialect: string;
  /** The agent for which the caller was authorized; `undefined` where that does not depend on the agent. */
  readonly agent: string | undefined;
  /** When the credentials of the caller expire, in milliseconds since 1970; `undefined`: they do not, or it is not known. */
  readonly expiresAt: number | undefined;
  readonly requestId: string;
  /** The idempotency key for the services, `{}` without one. Every call that changes something passes it on. */
  readonly idempotency: { readonly onceKey?: string };
  /** When the request began; of a repeated idempotent request, when the first one did. */
  readonly at: Date;
  /** Whether an earlier request with this idempotency key succeeded and only its reply has to be made again. */
  readonly isRepeated: boolean;
  /**
   * Records that what the request creates exists: a repeated request does not create it again, also when it was deleted
   * in the meantime.
   */
  readonly markAccepted: () => Promise<void>;
  /** The handler needs the input no longer: its memory is freed, and its bytes no longer count as in flight. */
  readonly releaseInput: () => void;
  /** An id for what the request creates. `what` distinguishes several; a repeated idempotent request gets the same ids. */
  readonly newId: (what: string) => string;
  /** Absent: the request is no call of JSON-RPC. */
  readonly rpc: RpcState | undefined;
  /** Where the caller has reached this gateway: scheme, host and port, as `https://example.com`. */
  readonly origin: () => string;
  /** The `Last-Event-ID` header; `undefined` where the row does not take it. */
  readonly lastEventId: string | undefined;
  /** A header of the request, by its name in lower case; `undefined` for one that is absent, or there twice. */
  readonly header: (name: string) => string | undefined;
  /** Sets the HTTP status of a reply that is no stream, in place of that of the row. An empty reply has no body. */
  readonly setReplyStatus: (status: number) => void;
  /** Adds entries to the `metadata` of the reply, beside request id and timestamp; `message` takes the place of the usual one. */
  readonly addReplyMetadata: (entries: Readonly<Record<string, unknown>>) => void;
  /** Adds headers to the reply; each name once. */
  readonly addReplyHeaders: (headers: Readonly<Record<string, string>>) => void;
  /** Reads the file of a row that takes one, and gives what `take` returns. */
  readonly receiveFile: <T>(take: (file: IncomingFile) => Promise<T>) => Promise<T>;
  /** The body of a row that takes bytes; absent elsewhere. */
  readonly received?: Received;
  /** Calls `act` if the caller disconnects before the reply has been sent. */
  readonly onDisconnect: (act: () => void) => void;
  /** Calls `act` when the reply has been sent, or the caller has disconnected. */
  readonly onClose: (act: () => void) => void;
  /**
   * The deadline and signal of a call to a service: `ms` from now, `CALL_TIMEOUT_MS` by default. The signal fires when the
   * caller disconnects.
   */
  readonly call: (ms?: number) => Call;
}

/** A body that comes with a signature in place of credentials. */
export interface Received {
  /** `undefined` for a header that is absent. */
  readonly header: (name: string) => string | undefined;
  readonly read: () => Promise<ReceivedBytes>;
  /** Says who the sender acts for, once the signature is known to be right: the request counts for that owner. @throws RateLimited */
  readonly enter: (principal: Principal) => Promise<void>;
}

/** A run to follow, as the reply of a stream. */
export interface RunStream {
  readonly follow: FollowRequest;
  readonly call: Call;
  /** What stands between the events; absent: nothing. */
  readonly extras?: StreamExtras | undefined;
}

/** Runs to follow one after the other, as the reply of a stream. */
export interface ThreadStream {
  readonly runs: AsyncIterable<RunStream>;
  /** Whether the stream ends with the last of them; absent: it has no end of its own, is cut, and its reader resumes it. */
  readonly ends?: true;
}

/** What a stream has beside the events of its run. */
export interface StreamExtras {
  /** Streams of one run and one name have the same bytes. */
  readonly name: string;
  /** The stream after event `after`. `open` reads the events of the run after a number: the beginning of the log may be needed. */
  readonly add: (
    open: (after: number) => AsyncIterable<RunEvents>,
    after: number,
    call: Call,
  ) => AsyncIterable<StreamEvents>;
}

/** Gives the JSON of the reply's `data`, runs to follow, or the bytes of a file. */
export type Handler<Services, Params = unknown, Input = unknown> = (
  request: EndpointRequest<Params, Input>,
  services: Services,
) => Promise<string | JsonParts | RunStream | ThreadStream | FileContent | SocketReply> | string;

/** A row with its handler. `Services` is the type of the handlers' second argument. */
export interface Endpoint<Services> extends Row {
  readonly handle: Handler<Services>;
}
