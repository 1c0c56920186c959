import type { Context } from './context.ts';
import type { Refusal } from './dialect.ts';
import { sizeOf, type JsonParts } from './json.ts';

/** Headers of every reply: no content sniffing, no scripts, no framing, no referrer. Names and values in turn. */
export const safeHeaders: readonly string[] = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

/** Replies are private to the caller and soon out of date. */
const cacheControl = 'no-store';

/**
 * Sends status and headers: those of all replies, those that earlier steps put into `state.headers`, and `headers`. They are
 * sent as one list, because Node checks and stores each header that is set singly: with ten headers that was an eighth of
 * the cost of ping.
 */
export function sendHead(ctx: Context, status: number, headers: readonly string[]): void {
  ctx.respond = false;
  ctx.status = status;
  const usual = headers.includes('Cache-Control')
    ? ctx.state.headers
    : [...ctx.state.headers, 'Cache-Control', cacheControl];
  ctx.res.writeHead(status, [...usual, ...headers]);
}

/** Sets the headers of {@link sendHead} on a reply that Koa will send. */
export function setHead({ res, state }: Context): void {
  for (let index = 0; index < state.headers.length; index += 2)
    res.setHeader(state.headers[index] ?? '', state.headers[index + 1] ?? '');
  res.setHeader('Cache-Control', cacheControl);
}

const contentType = 'application/json; charset=utf-8';

/** Writes the envelope of the dialect around `data`, which is JSON text. */
export function writeData(ctx: Context, data: string, status: number): void {
  const [before, after] = ctx.state.dialect.envelope(ctx.state);
  writeJson(ctx, status, `${before}${data}${after}`);
}

/** Writes the envelope of the dialect around `data`, whose parts are not copied. */
export function writeDataParts(ctx: Context, data: JsonParts, status: number): void {
  const [before, after] = ctx.state.dialect.envelope(ctx.state).map((text) => Buffer.from(text)) as [Buffer, Buffer];
  const size = before.byteLength + sizeOf(data) + after.byteLength;
  sendHead(ctx, status, ['Content-Type', contentType, 'Content-Length', String(size)]);
  ctx.res.cork();
  for (const part of [before, ...data.json, after]) ctx.res.write(part);
  ctx.res.end();
}

/** Writes a reply without a body. */
export function writeNothing(ctx: Context, status: number): void {
  sendHead(ctx, status, status === 204 ? [] : ['Content-Length', '0']);
  ctx.res.end();
}

/** Writes JSON text without the envelope. */
export function writeJson(ctx: Context, status: number, json: string): void {
  sendHead(ctx, status, ['Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(json))]);
  ctx.res.end(json);
}

/** Refuses in the words of the dialect. */
export function writeRefusal(ctx: Context, refusal: Refusal): void {
  const { status, headers, body } = ctx.state.dialect.refuse(refusal, ctx.state);
  sendHead(ctx, status, [...headers, 'Content-Length', String(Buffer.byteLength(body))]);
  ctx.res.end(body);
}
