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
  const streams = new Set<() => void>();
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
        const retire = answerAll(stream, { rpcOf, caller, hold, restOf, onOver: () => streams.delete(retire) });
        streams.add(retire);
        if (isLeaving) retire();
      },
    },
  );
  return () => {
    isLeaving = true;
    for (const retire of streams) retire();
  };
}

interface AnswerOptions extends Pick<ServeCallsOptions, 'rpcOf' | 'hold'> {
  readonly caller: CallerOf;
  readonly restOf: ReturnType<typeof createStreamRests>;
  readonly onOver: () => void;
}

/** Answers the calls of one stream. @returns what asks its client to end it. */
function answerAll(
  stream: ServerDuplexStream<Buffer, Buffer>,
  { rpcOf, caller, hold, restOf, onOver }: AnswerOptions,
): () => void {
  const open = createShortLivedMap<number, AbortController>();
  let isOver = false;
  let resting: NodeJS.Timeout | undefined;
  /** How many calls of the message that is being read were refused because their pool makes too many. */
  let refused = 0;

  const outbox = createOutbox<StreamedReply>((replies, onTaken) => {
    if (isOver) return;
    const message = repliesCodec.encode({ replies });
    const release = hold(stream.metadata, message.byteLength);
    stream.write(message, () => {
      onTaken();
      release();
      goOn();
    });
  });
  const isFull = (): boolean =>
    resting !== undefined || open.size() >= maxOpen || outbox.waitingBytes() >= maxWaitingBytes;
  const goOn = (): void => {
    if (stream.isPaused() && !isFull()) stream.resume();
  };
  const reply = (sent: StreamedReply): void => {
    if (!open.delete(sent.id) || isOver) return;
    outbox.add(sent, sent.message?.byteLength ?? 0);
    goOn();
  };
  /** Refusals cost time too: after them the stream is not read for a while. */
  const rest = (): void => {
    const from = caller();
    if (refused === 0 || !from || from === 'platform') return;
    clearTimeout(resting);
    resting = setTimeout(
      () => {
        resting = undefined;
        goOn();
      },
      restOf(from.name, refused),
    );
  };
  const leave = (): void => {
    isOver = true;
    clearTimeout(resting);
    onOver();
    for (const controller of open.values()) controller.abort();
    for (const id of open.keys()) open.delete(id);
  };
  const begin = ({ id, path, message, timeoutMs, context }: StreamedRequest): void => {
    const controller = new AbortController();
    open.set(id, controller);
    const rpc = rpcOf(path);
    if (!rpc) {
      reply({ id, code: status.UNIMPLEMENTED });
      return;
    }
    const fail = (error: unknown): void => reply({ id, ...toReply(rpc.refuse(error)) });
    const from = caller();
    let entered: Entered | undefined;
    try {
      entered = rpc.enter(from, message.byteLength);
    } catch (error) {
      refused += 1;
      fail(error);
      return;
    }
    let request: object;
    try {
      request = rpc.deserialize(bytesOf(message as Buffer));
    } catch {
      entered?.onEnd();
      reply({ id, code: status.INTERNAL, details: 'the request cannot be read' });
      return;
    }
    const { signal } = controller;
    rpc
      .answer({ request, context, deadline: Date.now() + timeoutMs, signal, caller: from, entered })
      .then((value) => reply(toAnswer(id, rpc.serialize(value))))
      .catch(fail);
  };
  const receive = ({ requests, cancelled }: Required<Requests>): void => {
    refused = 0;
    for (const request of requests) begin(request);
    rest();
    for (const id of cancelled) {
      open.get(id)?.abort();
      open.delete(id);
    }
    if (isFull()) stream.pause();
  };

  stream.on('data', (bytes: Buffer) => {
    const isBounded = caller() !== 'platform';
    if (isBounded && bytes.byteLength > maxPoolBytes) {
      stream.emit('error', tooMany);
      return;
    }
    try {
      const requests = requestsCodec.decode(bytes);
      if (isBounded && requests.requests.length > maxOpen) stream.emit('error', tooMany);
      else receive(requests);
    } catch {
      stream.emit('error', { code: status.INVALID_ARGUMENT, details: 'the requests cannot be read' });
    }
  });
  stream.on('end', () => {
    leave();
    stream.end();
  });
  stream.on('cancelled', leave);
  stream.on('error', leave);
  stream.write(repliesCodec.encode({}));
  return () => {
    if (!isOver) stream.write(repliesCodec.encode({ leaving: true }));
  };
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
