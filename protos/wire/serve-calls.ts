import { status, type Metadata, type Server, type ServerDuplexStream, type StatusObject } from '@grpc/grpc-js';
import { sizes } from '@agent-workflow/kit/sizes';
import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
import { errorKey, notBegunKey } from './status.ts';
import {
  asBytes,
  bytesOf,
  exchangePath,
  repliesCodec,
  requestsCodec,
  type StreamedReply,
  type StreamedRequest,
  type Requests,
} from './call-messages.ts';
import { createOutbox } from './outbox.ts';
import type { HeldReplies } from './held-replies.ts';
import type { Caller } from './pool-gate.ts';
import type { Entered } from './pool-limits.ts';
import { createStreamRests } from './refusal-pace.ts';
import type { CallerOf } from './security.ts';

/** An RPC as it is answered on a stream. */
export interface StreamedRpc {
  readonly deserialize: (message: Buffer) => object;
  readonly serialize: (reply: object) => Buffer;
  /** Lets a call in whose request has so many bytes. @returns `undefined` for one that is not counted. @throws RateLimited. */
  readonly enter: (caller: Caller | undefined, bytes: number) => Entered | undefined;
  /** Answers in the request context that the call names. */
  readonly answer: (call: StreamedCall) => Promise<object>;
  readonly refuse: (error: unknown) => Partial<StatusObject>;
}

interface StreamedCall {
  readonly request: object;
  readonly context: Readonly<Record<string, string>>;
  /** Milliseconds since 1970 UTC. */
  readonly deadline: number;
  /** Fires when the caller leaves, or its stream is lost. */
  readonly signal: AbortSignal;
  /** Absent: it was known when the stream began, and is no longer. */
  readonly caller: Caller | undefined;
  /** Absent: it is not counted. */
  readonly entered: Entered | undefined;
}

interface ServeCallsOptions {
  readonly rpcOf: (path: string) => StreamedRpc | undefined;
  readonly callerOf: (metadata: Metadata) => CallerOf;
  readonly hold: HeldReplies['hold'];
  /** What a caller gets that is not one of ours. */
  readonly refusal: Partial<StatusObject>;
}

/** A stream with more calls under way than this reads no further until some are answered; so does one with more bytes that wait. */
const maxOpen = 2000;
const maxWaitingBytes = 4 * 1024 * 1024;
/** The most bytes of one message of a pool, and above the most calls in one: many times what a client of ours sends in a turn. */
const maxPoolBytes = 4 * 1024 * 1024;

/** Adds the RPC that carries calls to a server. @returns what asks every client to end its streams, which the server needs to end. */
export function serveCalls(server: Server, { rpcOf, callerOf, hold, refusal }: ServeCallsOptions): () => void {
  const streams = new Set<ServedStream>();
  const restOf = createStreamRests();
  let isLeaving = false;
  const definition = {
    ...{ path: exchangePath, requestStream: true, responseStream: true, requestSerialize: asBytes },
    ...{ requestDeserialize: asBytes, responseSerialize: asBytes, responseDeserialize: asBytes },
  };
  server.addService(
    { exchange: definition },
    {
      exchange: (stream: ServerDuplexStream<Buffer, Buffer>) => {
        const caller = callerOf(stream.metadata);
        if (!caller()) {
          stream.emit('error', refusal);
          return;
        }
        const served = new ServedStream(stream, { rpcOf, caller, hold, restOf, onOver: () => streams.delete(served) });
        streams.add(served);
        if (isLeaving) served.retire();
      },
    },
  );
  return () => {
    isLeaving = true;
    for (const stream of streams) stream.retire();
  };
}

interface AnswerOptions extends Pick<ServeCallsOptions, 'rpcOf' | 'hold'> {
  readonly caller: CallerOf;
  readonly restOf: ReturnType<typeof createStreamRests>;
  readonly onOver: () => void;
}

/** Answers the calls of one stream. */
class ServedStream {
  readonly #stream: ServerDuplexStream<Buffer, Buffer>;
  readonly #options: AnswerOptions;
  readonly #open = createShortLivedMap<number, AbortController>();
  readonly #outbox = createOutbox<StreamedReply>((replies, onTaken) => this.#write(replies, onTaken));
  #isOver = false;
  #resting: NodeJS.Timeout | undefined;
  /** How many calls of the message that is being read were refused because their pool makes too many. */
  #refused = 0;

  constructor(stream: ServerDuplexStream<Buffer, Buffer>, options: AnswerOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on('data', (bytes: Buffer) => this.#read(bytes));
    stream.on('end', () => {
      this.#leave();
      stream.end();
    });
    stream.on('cancelled', () => this.#leave());
    stream.on('error', () => this.#leave());
    stream.write(repliesCodec.encode({}));
  }

  /** Asks its client to end it. */
  retire(): void {
    if (!this.#isOver) this.#stream.write(repliesCodec.encode({ leaving: true }));
  }

  #read(bytes: Buffer): void {
    const isBounded = this.#options.caller() !== 'platform';
    if (isBounded && bytes.byteLength > maxPoolBytes) {
      this.#stream.emit('error', tooMany);
      return;
    }
    try {
      const requests = requestsCodec.decode(bytes);
      if (isBounded && requests.requests.length > maxOpen) this.#stream.emit('error', tooMany);
      else this.#receive(requests);
    } catch {
      this.#stream.emit('error', { code: status.INVALID_ARGUMENT, details: 'the requests cannot be read' });
    }
  }

  #receive({ requests, cancelled }: Required<Requests>): void {
    this.#refused = 0;
    for (const request of requests) this.#begin(request);
    this.#rest();
    for (const id of cancelled) {
      this.#open.get(id)?.abort();
      this.#open.delete(id);
    }
    if (this.#isFull()) this.#stream.pause();
  }

  #begin({ id, path, message, timeoutMs, context }: StreamedRequest): void {
    const controller = new AbortController();
    this.#open.set(id, controller);
    const rpc = this.#options.rpcOf(path);
    if (!rpc) {
      this.#reply({ id, code: status.UNIMPLEMENTED });
      return;
    }
    const fail = (error: unknown): void => this.#reply({ id, ...toReply(rpc.refuse(error)) });
    const from = this.#options.caller();
    let entered: Entered | undefined;
    try {
      entered = rpc.enter(from, message.byteLength);
    } catch (error) {
      this.#refused += 1;
      fail(error);
      return;
    }
    let request: object;
    try {
      request = rpc.deserialize(bytesOf(message as Buffer));
    } catch {
      entered?.onEnd();
      this.#reply({ id, code: status.INTERNAL, details: 'the request cannot be read' });
      return;
    }
    const { signal } = controller;
    rpc
      .answer({ request, context, deadline: Date.now() + timeoutMs, signal, caller: from, entered })
      .then((value) => this.#reply(toAnswer(id, rpc.serialize(value))))
      .catch(fail);
  }

  #reply(sent: StreamedReply): void {
    if (!this.#open.delete(sent.id) || this.#isOver) return;
    this.#outbox.add(sent, sent.message?.byteLength ?? 0);
    this.#goOn();
  }

  #write(replies: readonly StreamedReply[], onTaken: () => void): void {
    if (this.#isOver) return;
    const message = repliesCodec.encode({ replies });
    const release = this.#options.hold(this.#stream.metadata, message.byteLength);
    this.#stream.write(message, () => {
      onTaken();
      release();
      this.#goOn();
    });
  }

  #isFull(): boolean {
    return (
      this.#resting !== undefined || this.#open.size() >= maxOpen || this.#outbox.waitingBytes() >= maxWaitingBytes
    );
  }

  #goOn(): void {
    if (this.#stream.isPaused() && !this.#isFull()) this.#stream.resume();
  }

  /** Refusals cost time too: after them the stream is not read for a while. */
  #rest(): void {
    const from = this.#options.caller();
    if (this.#refused === 0 || !from || from === 'platform') return;
    clearTimeout(this.#resting);
    const wakeUp = (): void => {
      this.#resting = undefined;
      this.#goOn();
    };
    this.#resting = setTimeout(wakeUp, this.#options.restOf(from.name, this.#refused));
  }

  #leave(): void {
    this.#isOver = true;
    clearTimeout(this.#resting);
    this.#options.onOver();
    for (const controller of this.#open.values()) controller.abort();
    for (const id of this.#open.keys()) this.#open.delete(id);
  }
}

/** What a stream of a pool ends with whose message is too large, or has too many calls. */
const tooMany: Partial<StatusObject> = {
  code: status.RESOURCE_EXHAUSTED,
  details: `more than ${String(maxPoolBytes)} bytes or ${String(maxOpen)} calls in one message`,
};

const toAnswer = (id: number, message: Buffer): StreamedReply =>
  message.byteLength > sizes.rpc ? { id, code: status.RESOURCE_EXHAUSTED } : { id, message };

function toReply({ code = status.UNKNOWN, details = '', metadata }: Partial<StatusObject>): Omit<StreamedReply, 'id'> {
  const [error] = metadata?.get(errorKey) ?? [];
  const notBegun = (metadata?.get(notBegunKey).length ?? 0) > 0;
  return { code, details, notBegun, ...(Buffer.isBuffer(error) && { error }) };
}
