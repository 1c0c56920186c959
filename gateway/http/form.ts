import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import { badRequest, ServiceError } from '@agent-workflow/kit/errors';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { ArrivalWatch, type Pace } from './arrival.ts';
import { discardRest } from './body.ts';
import type { Context } from './context.ts';
import { invalidAt } from './fields.ts';
import { writeRefusal } from './reply.ts';

/** The most that a form has before the bytes of its file, in bytes: the headers of its part, and the line before them. */
const maxBytes = 16 * 1024;

/** The most headers of a part. */
const maxHeaders = 20;

/** What a parser of forms is to keep of the headers of a part: more is refused before it comes to that. */
const headLimits = { headerSize: maxBytes, headerPairs: maxHeaders };

const lineEnd = '\r\n';
const headEnd = '\r\n\r\n';

/** What is looked at of a form before the bytes of its file. */
interface HeadGuard {
  readonly read: (chunk: Buffer) => void;
  /** Whether the part says of what type its file is; known when the first of its bytes come. A parser of forms gives one that says nothing as text. */
  readonly isTyped: () => boolean;
}

/**
 * Bounds what a form has before the bytes of its file. The chunks of the form are given as they come, the first first.
 * @throws TooLarge for headers that are too large or too many; BadRequest for headers that are no UTF-8, of which a name of replacement
 * characters would be stored, and for a content type without a boundary.
 */
function createHeadGuard(contentType: string): HeadGuard {
  // A form begins as if a line had ended: the boundary of its first part may be its first line.
  const boundary = `${lineEnd}--${boundaryOf(contentType)}`;
  let head: Buffer | undefined = Buffer.from(lineEnd);
  let isTyped = false;
  const read = (chunk: Buffer): void => {
    if (!head) return;
    const room = maxBytes + boundary.length - head.byteLength;
    head = Buffer.concat([head, chunk.subarray(0, room)]);
    const begin = head.indexOf(boundary);
    const end = begin < 0 ? -1 : head.indexOf(headEnd, begin);
    if (end < 0) {
      if (room < chunk.byteLength) throw headTooLarge(`larger than ${String(maxBytes)} bytes`);
      return;
    }
    const lines = head.subarray(begin + lineEnd.length, end);
    const [, ...headers] = lines.toString('latin1').split(lineEnd);
    if (headers.length > maxHeaders) throw headTooLarge(`more than ${String(maxHeaders)}`);
    if (!isUtf8(lines)) throw badRequest('the headers of the part of the form are not valid UTF-8');
    isTyped = headers.some((header) => /^content-type\s*:/i.test(header));
    head = undefined;
  };
  return { read, isTyped: () => isTyped };
}

const headTooLarge = (why: string): ServiceError =>
  new ServiceError('TooLarge', `the headers of the part of the form are ${why}`);

function boundaryOf(contentType: string): string {
  const absent = (cause?: unknown): ServiceError =>
    new ServiceError('BadRequest', 'the header of the form has no boundary', { cause });
  let boundary: string | null;
  try {
    boundary = new MIMEType(contentType).params.get('boundary');
  } catch (error) {
    throw absent(error);
  }
  if (boundary === null) throw absent();
  return boundary;
}

/** The one file of a form, as it arrives. */
export interface IncomingFile {
  /** As its sender has it, without folders. */
  readonly filename: string | undefined;
  /** As it was declared, else that of a text. */
  readonly contentType: string | undefined;
  /** No type was declared, as many clients declare none. */
  readonly isUntyped?: boolean;
  /** The most bytes that it can have, where its sender says so beforehand. */
  readonly mostBytes: number | undefined;
  /** At the pace at which they are read. @throws TooLarge, Timeout, BadRequest for a form that ends early */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Fires when the form cannot be read on, or its time is over: then the bytes end too. */
  readonly signal: AbortSignal;
}

export interface FormLimits {
  /** The largest file, in bytes. */
  readonly maxFileBytes: number;
  /** How long the whole form may take, in milliseconds. */
  readonly uploadMs: number;
  readonly pace: Pace;
  /** The memory that a file takes while it is stored, in bytes. */
  readonly bufferBytes: number;
}

/** What a form has beside its file, in bytes: the headers of its part, and the lines around it. */
const maxAroundBytes = 64 * 1024;

const limits = {
  parts: 1,
  files: 1,
  fields: 0,
  fieldSize: 0,
  fieldNameSize: 100,
  ...headLimits,
};

/**
 * Whether the body is a form; one that is not has been answered with 415, and one that is larger than any that is taken is refused
 * unread. @throws TooLarge
 */
export function takesForm(ctx: Context, { maxFileBytes }: FormLimits): boolean {
  const isForm = ctx.is('multipart/form-data') && /;\s*boundary=/i.test(ctx.req.headers['content-type'] ?? '');
  if (!isForm || !isIdentity(ctx.req.headers['content-encoding'])) {
    discardRest(ctx);
    const message = isForm
      ? 'the content encoding of the body must be identity'
      : 'the body must be sent as multipart/form-data with a boundary';
    writeRefusal(ctx, { status: 415, code: 'UnsupportedMediaType', message });
    return false;
  }
  if (Number(ctx.req.headers['content-length'] ?? 0) > maxFileBytes + maxAroundBytes) {
    discardRest(ctx);
    throw tooLarge(maxFileBytes);
  }
  return true;
}

/** Codings have no case (RFC 9110, section 8.4.1). */
const isIdentity = (coding: string | undefined): boolean => coding === undefined || coding.toLowerCase() === 'identity';

/**
 * Reads a form with one file in the field `file` and nothing else, and gives the file to `take` as it arrives. We read it with Busboy,
 * because the parser of koa-body keeps the headers of a part without a bound.
 * @returns what `take` returns, when the form has ended as it should.
 */
export async function receiveFile<T>(
  ctx: Context,
  { maxFileBytes, uploadMs, pace }: FormLimits,
  take: (file: IncomingFile) => Promise<T>,
): Promise<T> {
  const failed = new AbortController();
  using _watch = new ArrivalWatch(ctx, { totalMs: uploadMs, pace }, (refusal) => failed.abort(refusal));
  try {
    return await readForm({ ctx, maxFileBytes, failed, take });
  } catch (error) {
    discardRest(ctx);
    throw error;
  }
}

interface FormOptions<T> {
  readonly ctx: Context;
  readonly maxFileBytes: number;
  readonly failed: AbortController;
  readonly take: (file: IncomingFile) => Promise<T>;
}

async function readForm<T>({ ctx, maxFileBytes, failed, take }: FormOptions<T>): Promise<T> {
  const { signal } = failed;
  const headers = ctx.req.headers as BusboyHeaders;
  const length = ctx.req.headers['content-length'];
  const mostBytes = length === undefined ? undefined : Math.min(Number(length), maxFileBytes);
  const guardHead = createHeadGuard(headers['content-type']);
  const form = openForm(headers, maxFileBytes);
  const fail = (error: unknown): void => failed.abort(error);
  let taken: Promise<T> | undefined;
  form.on('file', (field, stream, filename, _encoding, contentType) => {
    // Its reader sees the error too; without a listener it would end the process.
    stream.on('error', () => undefined);
    signal.addEventListener('abort', () => stream.destroy(signal.reason as Error), { once: true });
    stream.once('limit', () => fail(tooLarge(maxFileBytes)));
    if (field !== 'file') fail(unknownField(field));
    if (signal.aborted) return;
    taken = take({
      filename: filename && unescaped(filename),
      contentType,
      isUntyped: !guardHead.isTyped(),
      mostBytes,
      bytes: chunksOf(stream, signal),
      signal,
    });
    // When it cannot be taken, the rest of the form is not read.
    taken.catch(fail);
  });
  for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) form.on(limit, () => fail(tooManyFields()));
  await untilRead({ req: ctx.req, form, guardHead, most: maxFileBytes + maxAroundBytes, failed });
  // It sees the failure as well, and undoes what it has done before the caller is answered.
  const outcome = await taken?.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (outcome && 'error' in outcome) throw outcome.error;
  if (signal.aborted) throw signal.reason;
  if (!outcome) throw invalidAt(['body', 'file'], 'is required', 'missing');
  return outcome.value;
}

interface ReadOptions {
  readonly req: IncomingMessage;
  readonly form: BusboyInstance;
  /** Reads each chunk before the form does. @throws what refuses the form */
  readonly guardHead: Pick<ReturnType<typeof createHeadGuard>, 'read'>;
  /** The most bytes that are read. */
  readonly most: number;
  readonly failed: AbortController;
}

/** Resolves when the form was read to its end, or reading has failed; the rest of the request is left unread then. */
async function untilRead({ req, form, guardHead, most, failed }: ReadOptions): Promise<void> {
  const { signal } = failed;
  const fail = (error: unknown): void => failed.abort(toServiceError(error));
  let size = 0;
  const count = (chunk: Buffer): void => {
    size += chunk.byteLength;
    if (size > most) fail(tooLarge(most - maxAroundBytes));
    try {
      guardHead.read(chunk);
    } catch (error) {
      fail(error);
    }
  };
  // A request that has arrived whole is closed too.
  const gone = (): void => {
    if (!req.complete) fail(new ServiceError('Cancelled', 'the caller disconnected'));
  };
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const done = (): void => resolve(undefined);
  form.once('finish', done).on('error', fail);
  signal.addEventListener('abort', done, { once: true });
  req.on('data', count).once('close', gone).once('error', gone);
  if (signal.aborted || req.destroyed) gone();
  else req.pipe(form);
  await promise;
  req.unpipe(form).off('data', count).off('close', gone);
}

/** A form sends the quote, CR and LF of a name as `%22`, `%0D` and `%0A`, and every other character as it is, `%` too. */
const unescaped = (name: string): string => name.replace(/%(?:22|0[DA])/g, decodeURIComponent);

/** A part need not have a name, whatever the types of Busboy say. */
const unknownField = (field: string | undefined): ServiceError =>
  field
    ? invalidAt(['body', field], 'is not a field of this form: the file is in `file`', 'extra_forbidden')
    : invalidAt(['body'], 'has a part without a name: the file is in `file`', 'missing');

const tooManyFields = (): ServiceError =>
  invalidAt(['body'], 'must have one field, `file`, and nothing beside it', 'too_long');

function openForm(headers: BusboyHeaders, maxFileBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers,
      // Every part counts as a file: one without a name is what some clients send of a `Blob`.
      isPartAFile: () => true,
      limits: { ...limits, fileSize: maxFileBytes },
    });
  } catch (error) {
    throw new ServiceError('BadRequest', 'the header of the form has no boundary', { cause: error });
  }
}

async function* chunksOf(stream: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    signal.throwIfAborted();
    throw toServiceError(error);
  }
  signal.throwIfAborted();
}

const tooLarge = (most: number): ServiceError =>
  new ServiceError('TooLarge', `the file is larger than ${String(most)} bytes`);

/** Busboy reports every fault of a form as an error without a code. */
const toServiceError = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('BadRequest', 'the body is not a form, or ends before its end', { cause: error });
