import { createHash } from 'node:crypto';
import { isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { FileInfo } from '@agent-workflow/graph/build/context';
import { callForNode, type NodeWait } from './node-calls.ts';

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
export async function* streamWhole(info: FileInfo, openAt: OpenAt, wait: NodeWait): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(info, openAt, wait)) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== info.sha256) throw otherBytes(info);
}

/** All bytes of a file, as {@link streamWhole} gives them. Those of another hash than `info` says are read again. */
export async function readWhole(info: FileInfo, openAt: OpenAt, wait: NodeWait): Promise<Uint8Array> {
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
