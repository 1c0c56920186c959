import type { Call } from '@agent-workflow/protos/call';
import type { FollowRequest } from '@agent-workflow/protos/execution';
import type { TSchema } from 'typebox';
import type { Access } from './access.ts';
import type { JsonParts } from './json.ts';
import type { Principal } from './principal.ts';

export const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type Method = (typeof methods)[number];

export interface Route {
  readonly method: Method;
  /** With `{name}` for a parameter. */
  readonly path: string;
}

/** What an endpoint is: routing, authorization, validation and the OpenAPI document are made from it. */
export interface Row extends Route {
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
export type Handler<Services, Params = unknown, Input = unknown> = (
  ask: Ask<Params, Input>,
  services: Services,
) => Promise<string | JsonParts | RunStream> | string;

/** One row of the table, with what answers it. `Services`: what the handlers of the table reach for. */
export interface Endpoint<Services> extends Row {
  readonly handle: Handler<Services>;
}
