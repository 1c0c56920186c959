import type { Context } from './context.ts';
import type { Refusal } from './dialect.ts';
import { sendHead } from './head.ts';
import { sizeOf, type JsonParts } from './json.ts';

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
