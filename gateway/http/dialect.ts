import type { ErrorCode, ErrorDetail } from '@agent-workflow/kit/errors';
import type { Framing } from './framing.ts';

/** Why a request is refused: what services refuse for, and what only HTTP knows. */
export type RefusalCode = ErrorCode | 'MethodNotAllowed' | 'UnsupportedMediaType' | 'RangeNotSatisfiable';

/** A refused request, before a dialect puts it in its own words. */
export interface Refusal {
  readonly code: RefusalCode;
  /** The HTTP status that this gateway has for it. */
  readonly status: number;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
  /** Of the request; absent when it was not read. */
  readonly method?: string;
}

/** What is known of the request that a reply is for. */
export interface Replied {
  readonly requestId: string;
  /** What the handler added by `addReplyMetadata`. */
  readonly replyMetadata?: Readonly<Record<string, unknown>>;
  /** Absent: it did not come by JSON-RPC. */
  readonly rpc?: RpcState;
}

/** The id of a call of JSON-RPC: what its caller gave, `null` where that could not be read. */
export type RpcId = string | number | null;

/** A call of JSON-RPC under way. */
export interface RpcState {
  readonly id: RpcId;
  /** Whether its body is JSON. */
  readonly isRead: boolean;
}

/** The operation that a body of JSON-RPC calls: a row of the dialect, with what its path and its input would hold. */
export interface RpcCall {
  readonly row: string;
  readonly params: Readonly<Record<string, string>>;
  readonly input: Record<string, unknown>;
}

/** A path at which the rows of a dialect are called by JSON-RPC. Access, limits and checks of each call are those of its row. */
export interface Rpc {
  /** With `{name}` for a parameter. */
  readonly path: string;
  /** @throws for what is no call, and for a method that there is not */
  readonly read: (body: Readonly<Record<string, unknown>>, params: Readonly<Record<string, string>>) => RpcCall;
}

/** A refusal as it is sent. */
export interface RefusalReply {
  readonly status: number;
  /** Names and values in turn, `Content-Type` among them. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** What an input names, as far as it is about an agent or a thread. */
export interface Named {
  readonly agent?: string | undefined;
  /** The agent that a run is to have: it counts where a request is about an agent. */
  readonly agentOfRun?: string | undefined;
  readonly threadId?: string | undefined;
  /** The run that the request goes on from: where no thread is named, it is about the thread of that. */
  readonly goesOnFrom?: string | undefined;
  /** The assistant whose agent a run is to have. */
  readonly assistantId?: string | undefined;
}

/**
 * One protocol in which callers speak to this gateway: what requests and replies look like. It is pure: authentication, access, limits,
 * idempotency, routing, streams, uploads and tickets are the gateway's, and the same for each dialect.
 */
export interface Dialect<Row = unknown> {
  readonly name: string;
  /** The paths of its rows begin with it; paths of no dialect are answered in the first one. */
  readonly prefix: string;
  readonly rows: readonly Row[];
  /** What stands before and after the JSON of a success. */
  readonly envelope: (replied: Replied) => readonly [before: string, after: string];
  /** The reply to a repeated deletion that an earlier request with its key has done, as JSON. */
  readonly deleted: string;
  readonly refuse: (refusal: Refusal, replied: Replied) => RefusalReply;
  /** How the events of a run are sent to a caller with this `Accept`. */
  readonly framingFor: (accept: string | undefined) => Framing;
  /** The agent and the thread that an input names, for authorization. It has the fields that its row reads. */
  readonly namedIn: (input: Readonly<Record<string, unknown>>) => Named;
  /** The id in a path as the services know it; `undefined` for what is none. Absent: ids are as the services have them. */
  readonly readId?: (text: string) => string | undefined;
  /** A header, in lower case, whose value counts as a bearer token where a request has no `Authorization`. */
  readonly tokenHeader?: string;
  /** Headers that pages of the allowed origins may send and read, beside those of every dialect. */
  readonly cors?: { readonly allow: readonly string[]; readonly expose: readonly string[] };
  /** Absent: its rows have their own paths alone. */
  readonly rpc?: Rpc;
  /** Pages of other origins that are not listed are refused, with credentials too. */
  readonly refusesForeignPages?: true;
  /** Where a caller without credentials reads how to get some, below the origin of the gateway. */
  readonly resourceMetadata?: string;
  /** Media types of bodies beside `application/json`. */
  readonly bodyTypes?: readonly string[];
  /** What a header, or a query parameter, of every request must say; `name` is that of the row. @throws what the request is refused with */
  readonly checkSent?: (sent: SentParameters, name: string) => void;
  /** Query parameters of every row, beside those that it names. */
  readonly everyQuery?: readonly string[];
  /** Query parameters that a row does not name are let be. */
  readonly ignoresUnknownQuery?: true;
  /** Of these agents the one whose own assistant has this id; `undefined` for the id of a stored one. Absent: agents have no such ids. */
  readonly agentOfAssistant?: (assistantId: string, agents: readonly string[]) => string | undefined;
  /** A stream that ends before its last event is cut: to the clients of this dialect any other end is that of a whole answer. */
  readonly cutsUnfinished?: true;
  /** Absent: no document describes it. */
  readonly openApi?: (options: { readonly secured: boolean }) => object;
}

/** What a request has beside its path and its body. */
export interface SentParameters {
  readonly header: (name: string) => string | undefined;
  /** A query parameter; of one that is given several times the first. */
  readonly query: (name: string) => string | undefined;
}

/** The dialects of a gateway. The first also answers what no other is asked for. */
export type Dialects<Row = unknown> = readonly [Dialect<Row>, ...Dialect<Row>[]];
