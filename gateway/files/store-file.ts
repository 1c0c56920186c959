import { badRequest, stale } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within, type Call } from '@agent-workflow/protos/call';
import type { FileCalls, FileRecord } from '@agent-workflow/protos/threads';
import { invalidAt } from '../http/fields.ts';
import type { IncomingFile } from '../http/form.ts';
import { belies, sniffedBytes, sniffType, toMediaType } from './media-types.ts';
import type { FileStore } from './open.ts';
import type { FileKey } from './port.ts';
import { removeFile } from './remove-file.ts';

/** The longest name of a file, in bytes of UTF-8. */
const maxFilenameBytes = 255;

/** Control characters, and those that turn the direction of writing, so that `gpj.exe` could be read as another name. */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * A name of a file without its folders and without what is not printed, cut to 255 bytes before its ending; `file` when nothing is
 * left. It is shown and sent, and never part of a path.
 */
function cleanFilename(given: string): string {
  const base = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
  const name = base.toWellFormed().normalize('NFC').replace(unprintable, '').trim();
  if (name === '' || name === '.' || name === '..') return 'file';
  if (Buffer.byteLength(name) <= maxFilenameBytes) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && Buffer.byteLength(name.slice(dot)) <= maxEndingBytes ? name.slice(dot) : '';
  return cut(name.slice(0, name.length - ending.length), maxFilenameBytes - Buffer.byteLength(ending)) + ending;
}

const maxEndingBytes = 16;

/** The first characters that are no more than so many bytes. */
function cut(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

interface StoreFileParts {
  readonly threads: Pick<FileCalls, 'beginFile' | 'finishFile' | 'deleteFile' | 'forgetFile'>;
  readonly files: FileStore;
  readonly log: Log;
}

interface StoreFileOptions {
  readonly key: FileKey;
  readonly file: IncomingFile;
  /** Makes a call to a service; its signal fires when the caller disconnects. */
  readonly call: () => Call;
}

/**
 * Stores a file as it arrives: its record begins, its bytes are written, its record is finished. When one of these fails, what was
 * done is undone; what cannot be undone now is found by the sweep.
 * @throws Invalid for an empty file and for one whose bytes belie its type; TooLarge when the owner has too much; Unavailable.
 */
export async function storeFile(options: StoreFileOptions, parts: StoreFileParts): Promise<FileRecord> {
  const { key, file, call } = options;
  const { threads, files } = parts;
  if (files.kind === 'none') throw badRequest('this service stores no files');
  const { maxBytes, ttlMs } = files.limits;
  const declared = toMediaType(file.contentType);
  const { start, all } = await peek(file.bytes, sniffedBytes);
  if (start.byteLength === 0) throw invalidAt(['body', 'file'], 'must not be empty', 'too_short');
  const sniffedType = await sniffType(start);
  if (!file.isUntyped) refuseBelied(declared, sniffedType);
  const contentType = file.isUntyped && sniffedType !== undefined ? undefined : declared;
  const begin = createBegin({ ...options, contentType }, parts);
  // A file of fewer bytes than were asked for has arrived whole.
  const mostBytes = start.byteLength < sniffedBytes ? start.byteLength : (file.mostBytes ?? firstReservedBytes);
  const { size: reserved } = await begin(mostBytes, start.byteLength);
  try {
    const written = await files.bytes.write(key, reserving(all, reserved, begin), file.signal);
    files.meters?.bytes.add({ direction: 'in' }, written.size);
    return await threads.finishFile(
      { ...key, ...written, ...(sniffedType && { sniffedType }), maxBytes, ttlMs },
      call(),
    );
  } catch (error) {
    await discardFile(key, parts);
    throw error;
  }
}

/** What is reserved for a file of unknown size at first, in bytes; then it grows with the file. */
const firstReservedBytes = 1024 * 1024;

/** Begins the record of a file, or reserves more bytes for it. @throws TooLarge when its owner has no room for the least of them. */
type Begin = (reserveBytes: number, leastBytes: number) => Promise<FileRecord>;

function createBegin(
  { key, file, call, contentType }: StoreFileOptions & { readonly contentType: string | undefined },
  { threads, files }: StoreFileParts,
): Begin {
  const { maxFileBytes, maxFiles, maxBytes } = files.limits;
  const named = { ...key, filename: cleanFilename(file.filename ?? ''), ...(contentType && { contentType }) };
  return (most, leastBytes) => {
    const reserveBytes = Math.max(leastBytes, Math.min(most, maxFileBytes));
    return threads.beginFile({ ...named, maxFiles, maxBytes, reserveBytes, leastBytes }, call());
  };
}

/** The bytes, each once it is reserved. At each time at most twice as many are reserved as have come. */
async function* reserving(
  bytes: AsyncIterable<Uint8Array>,
  reserved: number,
  begin: Begin,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let most = reserved;
  for await (const chunk of bytes) {
    size += chunk.byteLength;
    if (size > most) {
      const record = await begin(2 * size, size);
      if (record.status !== 'uploading') throw stale(`file "${record.fileId}" is no longer being uploaded`);
      most = record.size;
    }
    yield chunk;
  }
}

function refuseBelied(contentType: string | undefined, sniffedType: string | undefined): void {
  if (contentType === undefined || !belies(contentType, sniffedType)) return;
  const seen = sniffedType === undefined ? 'its bytes are not that' : `its bytes are ${sniffedType}`;
  throw invalidAt(['body', 'file'], `is sent as ${contentType}, and ${seen}`, 'content_type_mismatch');
}

/** How long what failed may take to be undone before its caller is answered, in milliseconds. */
const discardMs = 5000;

/** Removes a file whose upload failed; what cannot be removed now is found by the sweep. The caller may have left: this work is not theirs. */
export async function discardFile(key: FileKey, { threads, files, log }: StoreFileParts): Promise<void> {
  const { signal } = within(discardMs, AbortSignal.timeout(discardMs));
  try {
    await threads.deleteFile({ owner: key.owner, fileId: key.fileId }, within(discardMs, signal));
    await removeFile(key, { threads, files }, signal);
  } catch (error) {
    log.warn({ err: error, file_id: key.fileId }, 'an upload that failed was not undone; the sweep removes it');
  }
}

interface Peeked {
  readonly start: Uint8Array;
  /** All bytes, from the first. */
  readonly all: AsyncIterable<Uint8Array>;
}

/** Reads until there are so many bytes, or no more. */
async function peek(bytes: AsyncIterable<Uint8Array>, count: number): Promise<Peeked> {
  const chunks: Uint8Array[] = [];
  const rest = bytes[Symbol.asyncIterator]();
  for (let size = 0; size < count;) {
    const next = await rest.next();
    if (next.done) break;
    chunks.push(next.value);
    size += next.value.byteLength;
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* chunks;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  return { start: Buffer.concat(chunks).subarray(0, count), all: all() };
}
