import type { Readable } from 'node:stream';

/** What a stream holds. An error that it has is thrown to the reader as `toError` translates it. */
export function chunksOf(stream: Readable, toError: (error: unknown) => unknown): AsyncIterable<Uint8Array> {
  // Without a reader nobody else listens, and an error would end the process.
  stream.on('error', () => undefined);
  return iterated(stream, toError);
}

async function* iterated(stream: Readable, toError: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    throw toError(error);
  }
}
