import { notFound, ServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { FileRecord } from '@agent-workflow/protos/threads';
import type { FileContent } from '../http/content.ts';
import type { FileStore } from './open.ts';
import { toSentAs } from './media-types.ts';

interface ToContentOptions {
  readonly files: Pick<FileStore, 'bytes' | 'meters'>;
  readonly log: Log;
  /** Whether pages of other origins may show it. */
  readonly isEmbeddable: boolean;
}

/** A stored file as a reply. */
export function toContent(record: FileRecord, { files, log, isEmbeddable }: ToContentOptions): FileContent {
  const { owner, fileId, filename, size, sha256 = '' } = record;
  return {
    ...toSentAs(record),
    ...{ filename, size, isEmbeddable, tag: sha256 },
    open: async (range, signal) => {
      const bytes = await files.bytes.read({ owner, fileId }, { range, signal });
      const expected = range ? range.end - range.start + 1 : size;
      if (bytes) return whole(files.meters ? counted(bytes, files.meters) : bytes, expected);
      // A file that was deleted a moment ago, or bytes that were lost.
      log.warn({ file_id: fileId }, 'a file on record has no bytes');
      throw notFound(`there is no file "${fileId}"`);
    },
  };
}

/** A file whose bytes end with the signal: the connection is cut then. */
export const untilAborted = (content: FileContent, ended: AbortSignal): FileContent => ({
  ...content,
  open: (range, signal) => content.open(range, AbortSignal.any([signal, ended])),
});

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  meters: NonNullable<FileStore['meters']>,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      yield chunk;
    }
  } finally {
    meters.bytes.add({ direction: 'out' }, size);
  }
}

/**
 * The bytes, which must be as many as are expected: a reply that promised more would take the next one on its connection for the rest.
 * @throws StorageFailed at their end when there were fewer, and before more are given.
 */
async function* whole(bytes: AsyncIterable<Uint8Array>, expected: number): AsyncGenerator<Uint8Array> {
  let left = expected;
  for await (const chunk of bytes) {
    left -= chunk.byteLength;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new ServiceError('StorageFailed', 'the store has another number of bytes than the record says');
}
