import type { ClientReadableStream, ServerWritableStream } from '@grpc/grpc-js';

/**
 * What of one stream may wait on each side of the wire, in bytes; a larger message waits alone. gRPC itself counts messages:
 * a reader that does not read would have 16 of them on each side, of whatever size.
 */
const maxWaitingBytes = 256 * 1024;
const maxWaitingItems = 16;

/** The messages of a stream that its reader has not taken: while they are too many bytes, no more are read. */
export interface Inflow {
  readonly deserialize: (bytes: Buffer) => object;
  /** Reads the stream no further than the bound. */
  readonly bound: (stream: ClientReadableStream<object>) => void;
  /** To be called with each item that the reader takes. */
  readonly taken: () => void;
}

export function createInflow(deserialize: (bytes: Buffer) => object): Inflow {
  const sizes: number[] = [];
  let waiting = 0;
  let readLater: (() => void) | undefined;
  return {
    deserialize: (bytes) => {
      sizes.push(bytes.byteLength);
      waiting += bytes.byteLength;
      return deserialize(bytes);
    },
    bound: (stream) => {
      const read = stream._read.bind(stream);
      stream._read = (size) => {
        if (waiting < maxWaitingBytes) read(size);
        else readLater = () => read(size);
      };
    },
    taken: () => {
      waiting -= sizes.shift() ?? 0;
      if (waiting >= maxWaitingBytes || !readLater) return;
      const read = readLater;
      readLater = undefined;
      read();
    },
  };
}

interface WriteAllOptions {
  readonly serialize: (item: object) => Buffer;
  /** Ends the waiting for the reader. */
  readonly signal: AbortSignal;
}

/** Writes as fast as the reader reads: a slow one makes the service wait. The stream takes what is serialized already. */
export async function writeAll(
  items: AsyncIterable<object>,
  stream: ServerWritableStream<object, Buffer>,
  { serialize, signal }: WriteAllOptions,
): Promise<void> {
  let waiting = 0;
  let wake: (() => void) | undefined;
  const isFull = (): boolean => waiting >= maxWaitingBytes || stream.writableLength >= maxWaitingItems;
  const written = (bytes: number): void => {
    waiting -= bytes;
    if (!isFull()) wake?.();
  };
  for await (const item of items) {
    const bytes = serialize(item);
    waiting += bytes.byteLength;
    stream.write(bytes, () => written(bytes.byteLength));
    if (!isFull()) continue;
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      wake = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
    });
    wake = undefined;
  }
}
