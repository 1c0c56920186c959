import { badRequest, unavailable } from '@agent-workflow/kit/errors';
import type { BoundFiles, FileData, FileInfo } from '@agent-workflow/graph/build/context';
import type { RunClaim, RunFiles } from '@agent-workflow/protos/run-files';
import { callForNode, noteAway, type NodeWait } from './node-calls.ts';

interface FileScope extends NodeWait {
  readonly claim: RunClaim;
}

/** What `bytes` reads when the node sets no other bound. */
const maxBytesRead = 16 * 1024 * 1024;

/** The files of the run's owner as nodes see them. While the gateway is unavailable, calls are repeated that can be. */
export function bindFiles(files: RunFiles | undefined, scope: FileScope): BoundFiles {
  const { claim, signal } = scope;
  const known = (): RunFiles => {
    if (files) return files;
    throw badRequest('this worker reaches no files: FILES_URL and FILES_SECRET are not set');
  };

  const stream = async function* (fileId: string): AsyncGenerator<Uint8Array> {
    try {
      yield* known().read(claim, fileId, signal);
    } catch (error) {
      throw noteAway(error);
    }
  };

  const readAll = async ({ fileId, size }: FileInfo, maxBytes: number): Promise<Uint8Array> => {
    if (size > maxBytes)
      throw new RangeError(
        `file "${fileId}" has ${String(size)} bytes, more than ${String(maxBytes)}: read its stream, or give a larger maxBytes`,
      );
    return callForNode(() => gather(known().read(claim, fileId, signal), size), scope);
  };

  return {
    read: async (fileId) => {
      if (typeof fileId !== 'string') throw new TypeError('the id of a file must be a text');
      const info = await callForNode(async () => known().info(claim, fileId, signal), scope);
      return {
        info,
        stream: () => stream(fileId),
        bytes: ({ maxBytes = maxBytesRead } = {}) => readAll(info, maxBytes),
      };
    },

    write: async ({ filename, contentType, data }) => {
      if (typeof filename !== 'string' || filename === '')
        throw new TypeError('filename must be a text that is not empty');
      const named = { filename, ...(contentType === undefined ? {} : { contentType }) };
      const whole = toBytes(data);
      const send = async (bytes: AsyncIterable<Uint8Array>): Promise<FileInfo> =>
        known().write(claim, { ...named, bytes }, signal);
      if (whole) return callForNode(() => send(once(whole)), scope);
      // A stream can be read once: what fails while it is sent is not sent again.
      return send(data as AsyncIterable<Uint8Array>).catch((error: unknown) => {
        throw noteAway(error);
      });
    },
  };
}

async function gather(stream: AsyncIterable<Uint8Array>, size: number): Promise<Uint8Array> {
  const all = new Uint8Array(size);
  let at = 0;
  for await (const chunk of stream) {
    if (at + chunk.byteLength > size) throw cutOff();
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  if (at < size) throw cutOff();
  return all;
}

const cutOff = (): Error => unavailable('the bytes of a file did not arrive whole');

/** Data that is in memory, as bytes; `undefined` for a stream. */
function toBytes(data: FileData): Uint8Array | undefined {
  if (typeof data === 'string') return new TextEncoder().encode(data);
  if (data instanceof Uint8Array) return data;
  if (isStream(data)) return undefined;
  throw new TypeError('data of a file must be a text, bytes, or an async iterable of bytes');
}

/** Agents' code need not be type-checked. */
const isStream = (data: unknown): boolean => typeof data === 'object' && data !== null && Symbol.asyncIterator in data;

/** Bytes as one chunk: nothing is copied. */
// eslint-disable-next-line @typescript-eslint/require-await
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
