import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Readable } from 'node:stream';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { chunksOf } from './chunks.ts';
import { measured } from './measured.ts';
import { placeOf } from './place.ts';
import type { FileBytes, FileKey } from './port.ts';

export interface S3Options {
  /** Absent: that of AWS for the region. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  readonly bucket: string;
  /** What every key begins with. */
  readonly prefix: string;
  /** Absent: as the machine has them, by the usual chain of AWS. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** How long a connection, the first bytes of a file or a removal may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** The least that S3 takes for a part that is not the last; 10,000 of them are the largest file, 50 GB. */
const partBytes = 5 * 1024 * 1024;

/** Parts of one file that are on their way: the next one is filled when it has arrived, so that many uploads fit into memory. */
const partsAtOnce = 1;

/**
 * How long a connection may be quiet, in milliseconds: longer than a reader may pause whom the gateway keeps (60 s), because the bytes
 * that S3 has sent wait for that reader.
 */
const quietMs = 75_000;

/**
 * Keeps files as objects of an S3 bucket. An object appears when its upload is completed. What a dead process has uploaded of one is
 * aborted with the removal of the file.
 */
export function openS3Files(options: S3Options): FileBytes {
  const { bucket: Bucket, prefix, timeoutMs } = options;
  const client = openClient(options);
  const keyOf = (key: FileKey): string => prefix + placeOf(key);
  return {
    // A part is held twice for a moment, when its chunks are joined.
    bufferBytes: partBytes * (partsAtOnce + 1),
    write: async (key, bytes, signal) => {
      const { bytes: passing, result } = measured(bytes, signal);
      const failed: { error?: unknown } = {};
      const upload = new Upload({
        client,
        params: { Bucket, Key: keyOf(key), Body: Readable.from(noting(passing, failed), { objectMode: false }) },
        partSize: partBytes,
        queueSize: partsAtOnce,
      });
      const abort = (): void => void upload.abort().catch(() => undefined);
      signal.addEventListener('abort', abort, { once: true });
      try {
        await upload.done();
        return result();
      } catch (error) {
        signal.throwIfAborted();
        throw 'error' in failed ? failed.error : toServiceError(error);
      } finally {
        signal.removeEventListener('abort', abort);
      }
    },
    read: async (key, { range, signal }) => {
      try {
        const Range = range && `bytes=${String(range.start)}-${String(range.end)}`;
        const get = new GetObjectCommand({ Bucket, Key: keyOf(key), Range });
        const { Body } = await answered(timeoutMs, (silent) =>
          client.send(get, { abortSignal: AbortSignal.any([signal, silent]) }),
        );
        return bytesUntil(Body as Readable, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (nameOf(error) === 'NoSuchKey') return undefined;
        if (nameOf(error) === 'InvalidRange') return bytesUntil(Readable.from([]), signal);
        throw toServiceError(error);
      }
    },
    check: async (signal) => {
      try {
        await client.send(new HeadBucketCommand({ Bucket }), { abortSignal: signal });
      } catch (error) {
        signal.throwIfAborted();
        throw toServiceError(error);
      }
    },
    remove: async (key, signal) => {
      const Key = keyOf(key);
      const within = { abortSignal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) };
      try {
        await client.send(new DeleteObjectCommand({ Bucket, Key }), within);
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }), within);
        for (const { UploadId } of Uploads.filter((upload) => upload.Key === Key))
          await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), within);
      } catch (error) {
        signal.throwIfAborted();
        throw toServiceError(error);
      }
    },
    [Symbol.asyncDispose]: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
}

/** Why the bucket cannot be used now; `undefined` when it can. For the start of a process, which is not stopped by it. */
export async function s3Fault(options: S3Options): Promise<string | undefined> {
  const client = openClient(options);
  try {
    const within = { abortSignal: AbortSignal.timeout(options.timeoutMs) };
    await client.send(new HeadBucketCommand({ Bucket: options.bucket }), within);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } finally {
    client.destroy();
  }
}

/** Servers other than AWS have no names for buckets in their address, so an `endpoint` gets the bucket in the path. */
const openClient = ({ endpoint, region, credentials, timeoutMs }: S3Options): S3Client =>
  new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    maxAttempts: 3,
    requestHandler: { connectionTimeout: timeoutMs, socketTimeout: Math.max(timeoutMs, quietMs) },
    // Other servers do not all know the checksums that AWS adds by itself.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });

/** What S3 answers; the signal fires when the answer does not begin within this time, and not later. */
async function answered<T>(ms: number, send: (silent: AbortSignal) => Promise<T>): Promise<T> {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(), ms);
  try {
    return await send(silent.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Notes what the bytes throw: the upload wraps it. */
async function* noting(bytes: AsyncIterable<Uint8Array>, failed: { error?: unknown }): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    failed.error = error;
    throw error;
  }
}

/** The bytes of a reply, until the signal fires. */
function bytesUntil(body: Readable, signal: AbortSignal): AsyncIterable<Uint8Array> {
  signal.addEventListener('abort', () => body.destroy(), { once: true });
  return chunksOf(body, (error) => (signal.aborted ? signal.reason : toServiceError(error)));
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

const toServiceError = (error: unknown): ServiceError =>
  error instanceof ServiceError ? error : unavailable('the store of files is not available', error);
