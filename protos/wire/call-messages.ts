import { fileURLToPath } from 'node:url';
import type { status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

/** The messages of `calls.proto`. */
export interface Requests {
  readonly requests?: readonly StreamedRequest[];
  readonly cancelled?: readonly number[];
}

export interface StreamedRequest {
  readonly id: number;
  readonly path: string;
  readonly message: Uint8Array;
  readonly timeoutMs: number;
  readonly context: Readonly<Record<string, string>>;
}

export interface Replies {
  readonly replies?: readonly StreamedReply[];
  readonly leaving?: boolean;
}

export interface StreamedReply {
  readonly id: number;
  readonly message?: Uint8Array;
  /** Absent or `OK`: `message` is the answer. */
  readonly code?: status;
  readonly details?: string;
  readonly error?: Uint8Array;
  readonly notBegun?: boolean;
}

const types = protobuf.loadSync(fileURLToPath(new URL('./calls.proto', import.meta.url)));

interface Codec<M> {
  readonly encode: (message: M) => Buffer;
  /** Its `bytes` are views of the buffer. @throws Error when the bytes are no such message. */
  readonly decode: (bytes: Buffer) => Required<M>;
}

function codecOf<M extends object>(name: string): Codec<M> {
  const type = types.lookupType(`agent_workflow.calls.v1.${name}`);
  return {
    encode: (message) => type.encode(message).finish() as Buffer,
    // The type of a message that is read from the .proto is not known to the compiler.
    decode: (bytes) => type.decode(bytes) as unknown as Required<M>,
  };
}

export const requestsCodec: Codec<Requests> = codecOf('Requests');
export const repliesCodec: Codec<Replies> = codecOf('Replies');

/** The RPC that carries calls. */
export const exchangePath = '/agent_workflow.calls.v1.Calls/Exchange';

/** Messages of the stream are made and read here: gRPC has bytes alone. */
export const asBytes = (bytes: Buffer): Buffer => bytes;

/** A message is a view of all that came with it. One that is much less is copied: who keeps a part of it would keep the rest. */
export const bytesOf = (message: Buffer): Buffer =>
  message.buffer.byteLength > sharedBytes && message.byteLength < message.buffer.byteLength / 2
    ? Buffer.from(message)
    : message;

/** Node's own pool, in which small messages stand together anyway, has smaller buffers. */
const sharedBytes = 64 * 1024;
