import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FileContent } from '../http/content.ts';
import type { Context } from '../http/context.ts';
import { sendHead, writeRefusal } from '../http/reply.ts';

/** A part of a file: the positions of its first and of its last byte. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const oneRange = /^bytes=(\d*)-(\d*)$/i;

/**
 * The one part of `size` bytes that a `Range` header names; `unsatisfiable` for one that begins after the last byte. `undefined` for a
 * header that names several parts, or that is ignored because it is not valid (RFC 9110, 14.2), as `bytes=5-2`: all is sent then. We
 * read it ourselves, because `range-parser` takes invalid parts, and suffixes longer than the file, for unsatisfiable ones.
 */
function readByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = oneRange.exec(header) ?? [];
  if (first === undefined || last === undefined || first + last === '') return undefined;
  if (first === '') return toSatisfiable({ start: Math.max(0, size - Number(last)), end: size - 1 }, size);
  if (last !== '' && Number(last) < Number(first)) return undefined;
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return toSatisfiable({ start: Number(first), end }, size);
}

const toSatisfiable = (range: ByteRange, size: number): ByteRange | 'unsatisfiable' =>
  range.start < size ? range : 'unsatisfiable';

/** The connection of a reader that takes nothing for this time is closed. In milliseconds. */
const stalledMs = 60_000;

/** No script of a file runs, whatever a browser takes it for: not in it, and not in a page that shows it. */
const policy = "default-src 'none'; sandbox; frame-ancestors 'none'";

/**
 * Sends a file as fast as the caller reads it: 200 with all of it, 206 with the part that `Range` names, 304 when the caller has it, 416
 * for a part that it does not have. Several parts in one request are answered with all of it.
 */
export async function writeContent(ctx: Context, content: FileContent): Promise<void> {
  const { size } = content;
  const tag = `"${content.tag}"`;
  const headers = ['Content-Type', content.contentType, 'ETag', tag, 'Accept-Ranges', 'bytes'];
  headers.push('Cache-Control', 'private, no-cache');
  replaceHeader(ctx, 'Content-Security-Policy', policy);
  if (content.isEmbeddable) replaceHeader(ctx, 'Cross-Origin-Resource-Policy', 'cross-origin');
  if (names(ctx.req.headers['if-none-match'], tag)) {
    sendFileHead(ctx, content, 304, headers);
    ctx.res.end();
    return;
  }
  const range = rangeOf(ctx, size, tag);
  if (range === 'unsatisfiable') {
    refuseRange(ctx, size);
    return;
  }
  const length = range ? range.end - range.start + 1 : size;
  const head = [...headers, 'Content-Length', String(length)];
  if (range) head.push('Content-Range', `bytes ${String(range.start)}-${String(range.end)}/${String(size)}`);
  await send(ctx, content, { range, status: range ? 206 : 200, head });
}

interface Sending {
  readonly range: ByteRange | undefined;
  readonly status: number;
  readonly head: readonly string[];
}

/** Koa sets a `Content-Type` by the filename too; the one in `head` replaces it. */
function sendFileHead(
  ctx: Context,
  { filename, isInline }: FileContent,
  status: number,
  head: readonly string[],
): void {
  ctx.attachment(filename, { type: isInline ? 'inline' : 'attachment', fallback: true });
  sendHead(ctx, status, head);
}

/** The bytes are opened before the head is sent, so that what cannot be read is refused like anything else. */
async function send(ctx: Context, content: FileContent, { range, status, head }: Sending): Promise<void> {
  const { res } = ctx;
  if (ctx.method === 'HEAD') {
    sendFileHead(ctx, content, status, head);
    res.end();
    return;
  }
  const left = new AbortController();
  const leave = (): void => left.abort();
  res.once('close', leave);
  const bytes = await content.open(range, left.signal);
  sendFileHead(ctx, content, status, head);
  res.setTimeout(stalledMs);
  // What fails on the way cuts the connection: the caller sees fewer bytes than were promised, and asks for the rest.
  await pipeline(Readable.from(bytes, { objectMode: false }), res);
}

/** `If-Range` with another tag: the caller has a part of another content, and gets all of this one. */
function rangeOf({ req }: Context, size: number, tag: string): ByteRange | 'unsatisfiable' | undefined {
  const { range, 'if-range': condition } = req.headers;
  if (range === undefined || (condition !== undefined && condition !== tag)) return undefined;
  return readByteRange(range, size);
}

function refuseRange(ctx: Context, size: number): void {
  ctx.state.headers.push('Content-Range', `bytes */${String(size)}`);
  const message = `the range lies outside of the file, which has ${String(size)} bytes`;
  writeRefusal(ctx, { status: 416, code: 'RangeNotSatisfiable', message });
}

/** Whether a list of tags names this one. */
const names = (list: string | undefined, tag: string): boolean =>
  (list ?? '').split(',').some((each) => {
    const text = each.trim();
    return text === '*' || text === tag || text === `W/${tag}`;
  });

function replaceHeader({ state }: Context, name: string, value: string): void {
  const at = state.headers.indexOf(name);
  if (at < 0) state.headers.push(name, value);
  else state.headers[at + 1] = value;
}
