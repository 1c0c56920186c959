import { badRequest } from '@agent-workflow/kit/errors';
import type { BoundFiles, FileData, FileInfo } from '@agent-workflow/graph/build/context';
import type { RunClaim, RunFiles } from '@agent-workflow/protos/run-files';
import { callForNode, type NodeWait } from './node-calls.ts';
import { rereadable } from './rereadable.ts';
import { readWhole, streamWhole } from './whole-file.ts';

interface FileScope extends NodeWait {
  readonly claim: RunClaim;
}

/** What `bytes` reads when the node sets no other bound. */
const maxBytesRead = 16 * 1024 * 1024;

/** What is kept of a stream that is written, so that it can be sent again: a gateway that has no room says so before it reads. */
const maxBytesKept = 1024 * 1024;

/** The files of the run's owner as nodes see them. While the gateway is unavailable, calls are repeated that can be. */
export function bindFiles(files: RunFiles | undefined, scope: FileScope): BoundFiles {
  const { claim, signal } = scope;
  const known = (): RunFiles => {
    if (files) return files;
    throw badRequest('this worker reaches no files: FILES_URL and FILES_SECRET are not set');
  };

  const openAt =
    ({ fileId }: FileInfo) =>
    (from: number): AsyncIterable<Uint8Array> =>
      known().read(claim, fileId, signal, from);

  const readAll = async (info: FileInfo, maxBytes: number): Promise<Uint8Array> => {
    const { fileId, size } = info;
    if (size > maxBytes)
      throw new RangeError(
        `file "${fileId}" has ${String(size)} bytes, more than ${String(maxBytes)}: read its stream, or give a larger maxBytes`,
      );
    return readWhole(info, openAt(info), scope);
  };

  return {
    read: async (fileId) => {
      if (typeof fileId !== 'string') throw new TypeError('the id of a file must be a text');
      const info = await callForNode(async () => known().info(claim, fileId, signal), scope);
      return {
        info,
        stream: () => streamWhole(info, openAt(info), scope),
        bytes: ({ maxBytes = maxBytesRead } = {}) => readAll(info, maxBytes),
      };
    },

    write: async ({ filename, contentType, data }) => {
      if (typeof filename !== 'string' || filename === '')
        throw new TypeError('filename must be a text that is not empty');
      const named = { filename, ...(contentType === undefined ? {} : { contentType }) };
      const whole = toBytes(data);
      const send = async (bytes: AsyncIterable<Uint8Array>): Promise<FileInfo> =>
        known().write(claim, { ...named, ...(whole && { size: whole.byteLength }), bytes }, signal);
      if (whole) return callForNode(() => send(asChunk(whole)), scope);
      const source = rereadable(data as AsyncIterable<Uint8Array>, maxBytesKept);
      try {
        return await callForNode(() => send(source.read()), { ...scope, mayRepeat: source.canReread });
      } finally {
        source.close();
      }
    },
  };
}

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
async function* asChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
