import type { Log } from '@agent-workflow/kit/log';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution, FollowRequest } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import type { Static, TSchema } from 'typebox';
import type { GatewayConfig } from '../config.ts';
import type { Parts } from '../parts.ts';
import type { JsonParts } from '../replies/json.ts';
import type { TicketStore } from '../tickets/port.ts';
import type { ToolShelf } from '../tools/port.ts';
import type { Principal } from '../middleware/context.ts';

export const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type Method = (typeof methods)[number];

/** What the authorization backend is asked about. */
export interface Access {
  readonly resource: 'graph' | 'checkpointer' | 'store' | 'files';
  readonly action: string;
}

/** Everything that handlers reach for. */
export interface Services {
  readonly threads: Threads;
  readonly execution: Execution;
  readonly memory: Memory;
  /** How these do, for probes. */
  readonly parts: Parts;
  readonly tools: ToolShelf;
  readonly tickets: TicketStore;
  readonly config: GatewayConfig;
  /** Whether callers sign in: who they are is then told by their credentials, and by nothing else. */
  readonly secured: boolean;
  readonly log: Log;
  /** The OpenAPI document, as JSON text. */
  readonly openApi: () => string;
}

/** One request, authenticated and validated. */
export interface Ask<Params = unknown, Input = unknown> {
  readonly params: Params;
  /** The query of a GET, the body of a POST or PUT, either of a DELETE. */
  readonly input: Input;
  readonly owner: string;
  readonly user: Principal['user'];
  readonly requestId: string;
  /** What the services know the request by, when it is to be done once: handed on with every call that changes something. */
  readonly once: { readonly onceKey?: string };
  /** When it began: of one that is done once, when it was sent first. */
  readonly at: Date;
  /** Whether it was done before, and only its reply is missing. */
  readonly wasDone: boolean;
  /** Notes that what the request makes is on record: sent again, it is not made anew, also when it was removed since. */
  readonly accepted: () => Promise<void>;
  /** The input is needed no more: it is let go of, and its body counts no longer among the bytes that the edge holds. */
  readonly releaseInput: () => void;
  /** An id for what the request makes; `what` tells several of them apart, because one that is done once gets them again. */
  readonly newId: (what: string) => string;
  /** The last event that the reader of a stream has seen, as its header says it. */
  readonly lastEventId: string | undefined;
  /** Puts entries beside message, id and time in the `metadata` of the reply. */
  readonly addReplyMetadata: (entries: Readonly<Record<string, unknown>>) => void;
  /** Calls `act` if the caller goes away before the reply has been sent. */
  readonly whenGone: (act: () => void) => void;
  /** For a call to a service that may take `ms`, `CALL_TIMEOUT_MS` unless told; its signal fires when the caller goes away. */
  readonly call: (ms?: number) => Call;
}

/** A run to follow, as the reply of a stream. */
export interface RunStream {
  readonly follow: FollowRequest;
  readonly call: Call;
}

/** Gives the JSON of the reply's `data`, or a run to follow. */
export type Handler<Params = unknown, Input = unknown> = (
  ask: Ask<Params, Input>,
  services: Services,
) => Promise<string | JsonParts | RunStream> | string;

export interface Route {
  readonly method: Method;
  /** With `{name}` for a parameter. */
  readonly path: string;
}

/** One row of the table: what an endpoint is, wherever it is asked for. */
export interface Endpoint extends Route {
  /** In the OpenAPI document. */
  readonly name: string;
  readonly summary: string;
  readonly tag: string;
  /** Further routes to the same. */
  readonly aliases: readonly Route[];
  /** Absent: whoever is authenticated may. */
  readonly access?: Access;
  readonly params?: TSchema;
  readonly input?: TSchema;
  readonly reply: TSchema;
  /** `data`: in the envelope. `bare`: as it is. `events`: a stream. */
  readonly answer: 'data' | 'bare' | 'events';
  /** Of a success. */
  readonly status: number;
  /** It starts a run, whose id follows from an `Idempotency-Key`. */
  readonly startsRun?: boolean;
  /** A ticket lets in to it, in place of credentials. */
  readonly takesTicket?: true;
  /** The reply is a secret, so that it is kept nowhere: a request that is sent again is done again. */
  readonly secret?: true;
  readonly handle: Handler;
}

type Row<P extends TSchema, I extends TSchema> = Route &
  Pick<Endpoint, 'name' | 'summary' | 'tag' | 'access' | 'reply' | 'startsRun' | 'takesTicket' | 'secret'> &
  Partial<Pick<Endpoint, 'aliases' | 'answer' | 'status'>> & {
    readonly params?: P;
    readonly input?: I;
    readonly handle: Handler<Static<P>, Static<I>>;
  };

/** A row of the table; its handler is typed by its schemas, which are checked before it is called. */
export const endpoint = <P extends TSchema = TSchema, I extends TSchema = TSchema>(row: Row<P, I>): Endpoint => ({
  aliases: [],
  answer: 'data',
  status: 200,
  ...row,
  handle: row.handle as Handler,
});
