import { createHash } from 'node:crypto';
import type { BoundFiles, FileData, FileInfo, ReadableFile } from '../build/context.ts';
import { nameOf } from '../state/name-of.ts';
import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';

/** A file as {@link fakeFiles} keeps it. */
export interface StoredFile {
  readonly info: FileInfo;
  readonly bytes: Uint8Array;
}

export interface FakeFiles extends BoundFiles {
  /** What is stored, oldest first. */
  readonly stored: readonly StoredFile[];
}

const maxBytesRead = 16 * 1024 * 1024;
const generic = 'application/octet-stream';

/**
 * Files for tests, in the process: those given, as `file-1` and so on, and those that nodes write after them. Their types are as they
 * were declared.
 * @throws Error naming what is given where it is no file.
 * @example walk(graph, { context: [user('Read it')], run: { files: fakeFiles({ filename: 'a.txt', data: 'hello' }) } })
 */
export function fakeFiles(
  ...given: readonly { readonly filename: string; readonly contentType?: string; readonly data: string | Uint8Array }[]
): FakeFiles {
  const stored: StoredFile[] = [];
  const add = (filename: string, contentType: string | undefined, bytes: Uint8Array): FileInfo => {
    if (typeof filename !== 'string' || filename === '')
      throw new TypeError('filename must be a text that is not empty');
    const info: FileInfo = {
      // Not at random, so that two tests that do the same store the same.
      fileId: `file-${String(stored.length + 1)}`,
      filename,
      contentType: contentType ?? generic,
      size: bytes.byteLength,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    };
    stored.push({ info, bytes });
    return info;
  };
  given.forEach((file: unknown, at) => {
    requireObject(`[${String(at)}] of what fakeFiles is given`, file);
    refuseUnknown('what fakeFiles is given', `[${String(at)}].`, file, fileNames);
  });
  for (const { filename, contentType, data } of given) add(filename, contentType, toBytes(data));
  return {
    stored,
    read: async (fileId) => {
      const file = stored.find(({ info }) => info.fileId === fileId);
      if (!file) throw new Error(`file "${fileId}" does not exist`);
      return readable(file);
    },
    write: async ({ filename, contentType, data }) => add(filename, contentType, await gather(data)),
  };
}

const fileNames = { filename: true, contentType: true, data: true } as const;

const readable = ({ info, bytes }: StoredFile): ReadableFile => ({
  info,
  stream: async function* () {
    yield bytes.slice();
  },
  bytes: async ({ maxBytes = maxBytesRead } = {}) => {
    if (bytes.byteLength > maxBytes)
      throw new RangeError(
        `file "${info.fileId}" has ${String(bytes.byteLength)} bytes, more than ${String(maxBytes)}`,
      );
    return bytes.slice();
  },
});

function toBytes(data: string | Uint8Array): Uint8Array {
  if (typeof data === 'string') return new TextEncoder().encode(data);
  if (data instanceof Uint8Array) return data.slice();
  throw new TypeError(`data of a file of fakeFiles must be a text or bytes, not ${nameOf(data)}`);
}

async function gather(data: FileData): Promise<Uint8Array> {
  if (typeof data === 'string' || data instanceof Uint8Array) return toBytes(data);
  if (!isStream(data)) throw new TypeError('data of a file must be a text, bytes, or an async iterable of bytes');
  const chunks: Uint8Array[] = [];
  for await (const chunk of data as AsyncIterable<unknown>) {
    if (!(chunk instanceof Uint8Array))
      throw new TypeError(`a stream of a file must give bytes, not ${typeof chunk}: encode texts with TextEncoder`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

const isStream = (data: unknown): boolean => typeof data === 'object' && data !== null && Symbol.asyncIterator in data;
