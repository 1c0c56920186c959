import { createHash } from 'node:crypto';
import { badRequest, isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { BoundFiles, FileData, FileInfo } from '@agent-workflow/graph/build/context';
import type { RunClaim, RunFiles } from '@agent-workflow/protos/run-files';
import { callForNode, type NodeWait } from './node-calls.ts';

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

/** Opens a file at a byte. @throws StorageFailed, also later, when its bytes end too early. */
type OpenAt = (from: number) => AsyncIterable<Uint8Array>;

/** So often the bytes of a file end too early before it is given up; counted anew whenever some have come. */
const maxCuts = 3;

/** So often a file is read whose bytes have another hash than the record says. */
const maxReads = 2;

/**
 * The bytes of a file, one chunk after the other. Where they end too early, and while the store is unavailable, the file is opened again at the
 * byte that is missing.
 * @throws StorageFailed when the store has fewer bytes than `info` says, or others.
 */
async function* streamWhole(info: FileInfo, openAt: OpenAt, wait: NodeWait): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(info, openAt, wait)) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== info.sha256) throw otherBytes(info);
}

/** All bytes of a file, as {@link streamWhole} gives them. Those of another hash than `info` says are read again. */
async function readWhole(info: FileInfo, openAt: OpenAt, wait: NodeWait): Promise<Uint8Array> {
  const all = new Uint8Array(info.size);
  for (let reads = 1; reads <= maxReads; reads += 1) {
    const hash = createHash('sha256');
    let at = 0;
    for await (const chunk of chunksOf(info, openAt, wait)) {
      hash.update(chunk);
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    if (hash.digest('hex') === info.sha256) return all;
  }
  throw otherBytes(info);
}

/** As many bytes as `info` says. */
async function* chunksOf(info: FileInfo, openAt: OpenAt, wait: NodeWait): AsyncGenerator<Uint8Array> {
  let opened: AsyncIterator<Uint8Array> | undefined;
  let at = 0;
  let cuts = 0;

  const next = async (): Promise<Uint8Array> => {
    opened ??= openAt(at)[Symbol.asyncIterator]();
    const chunk = await nextOf(opened).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    if (chunk && at + chunk.byteLength <= info.size) {
      if (chunk.byteLength > 0) cuts = 0;
      return chunk;
    }
    await opened.return?.();
    opened = undefined;
    cuts += 1;
    if (cuts < maxCuts) throw unavailable('the bytes of a file did not arrive whole');
    throw damaged(info, `the store gives ${String(at)} of its ${String(info.size)} bytes`);
  };

  try {
    while (at < info.size) {
      const chunk = await callForNode(next, wait);
      at += chunk.byteLength;
      yield chunk;
    }
    // A response that is read to its end leaves its connection for the next one.
    await opened?.next().catch(() => undefined);
  } finally {
    await opened?.return?.();
  }
}

/** The next chunk; `undefined` at the end, and where the bytes were cut off. */
async function nextOf(opened: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    const next = await opened.next();
    return next.done ? undefined : next.value;
  } catch (error) {
    if (isServiceError(error, 'StorageFailed')) return undefined;
    throw error;
  }
}

const otherBytes = (info: FileInfo): ServiceError =>
  damaged(info, 'its bytes have another SHA-256 than its record says');

const damaged = ({ fileId }: FileInfo, why: string): ServiceError =>
  new ServiceError('StorageFailed', `file "${fileId}" is damaged: ${why}`);

/** A stream that can be read again from its begin, as long as little of it has been read. */
interface Rereadable {
  /** The bytes from the first. A reader that was there before gets no more. */
  readonly read: () => AsyncIterable<Uint8Array>;
  /** Whether they can be read again: all that was read is still here, and reading has not failed. */
  readonly canReread: () => boolean;
  /** Nobody reads any more. */
  readonly close: () => void;
}

/** What JavaScript lets pass: a stream of texts. */
function faultOf(chunk: unknown): TypeError | undefined {
  if (chunk instanceof Uint8Array) return undefined;
  return new TypeError(`a stream of a file must give bytes, not ${typeof chunk}: encode texts with TextEncoder`);
}

/** Keeps what is read of `source` until that is more than `maxBytes`. */
function rereadable(source: AsyncIterable<Uint8Array>, maxBytes: number): Rereadable {
  const iterator = source[Symbol.asyncIterator]();
  const kept = new Map<number, Uint8Array>();
  let [size, count, readers] = [0, 0, 0];
  let [isDone, hasFailed] = [false, false];
  let taking: Promise<void> | undefined;
  const isShort = (): boolean => size <= maxBytes;

  const leave = async (): Promise<void> => {
    await iterator.return?.();
  };

  const take = async (): Promise<void> => {
    try {
      const next = await iterator.next();
      isDone = next.done ?? false;
      if (next.done) return;
      const fault = faultOf(next.value);
      if (fault) {
        leave().catch(() => undefined);
        throw fault;
      }
      size += next.value.byteLength;
      kept.set(count++, next.value);
    } catch (error) {
      hasFailed = true;
      throw error;
    } finally {
      taking = undefined;
    }
  };

  const forgetUpTo = (last: number): void => {
    for (const at of kept.keys()) if (at <= last) kept.delete(at);
  };

  async function* read(): AsyncGenerator<Uint8Array> {
    const reader = ++readers;
    for (let at = 0; ; at++) {
      // What the reader before has asked for is taken for this one.
      while (at === count && !isDone) await (taking ??= take());
      const chunk = kept.get(at);
      if (chunk === undefined || reader !== readers) return;
      if (!isShort()) forgetUpTo(at);
      yield chunk;
    }
  }

  return {
    read,
    canReread: () => isShort() && !hasFailed,
    close: () => {
      // Not awaited: a source that hangs ends when it goes on.
      if (!isDone && !hasFailed) leave().catch(() => undefined);
    },
  };
}
