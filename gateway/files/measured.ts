import { createHash } from 'node:crypto';
import type { WrittenFile } from './port.ts';

/** Bytes that are counted and hashed while they pass. */
export interface Measured {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Size and hash of what has passed. */
  readonly result: () => WrittenFile;
}

/** Counts and hashes the bytes that pass. @throws the signal's reason before the next bytes. */
export function measured(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Measured {
  const hash = createHash('sha256');
  let size = 0;
  async function* passing(): AsyncGenerator<Uint8Array> {
    signal.throwIfAborted();
    for await (const chunk of bytes) {
      signal.throwIfAborted();
      size += chunk.byteLength;
      hash.update(chunk);
      yield chunk;
    }
    signal.throwIfAborted();
  }
  return { bytes: passing(), result: () => ({ size, sha256: hash.digest('hex') }) };
}
