import { createHash } from 'node:crypto';
import type { BoundFiles, FileData, FileInfo, ReadableFile } from '../build/context.ts';

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
 * Files for tests, in the process: those given, as `file-1` and so on, and those that nodes write behind them. Their types are as they
 * were declared.
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

const toBytes = (data: string | Uint8Array): Uint8Array =>
  typeof data === 'string' ? new TextEncoder().encode(data) : data.slice();

async function gather(data: FileData): Promise<Uint8Array> {
  if (typeof data === 'string' || data instanceof Uint8Array) return toBytes(data);
  const chunks: Uint8Array[] = [];
  for await (const chunk of data) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}
