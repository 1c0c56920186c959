import type { Context } from './context.ts';
import type { WireDetail } from './fields.ts';
import { sendHead } from './head.ts';
import { nowText, sizeOf, type JsonParts } from './json.ts';

const contentType = 'application/json; charset=utf-8';

/** How a request is refused. */
export interface Refusal {
  readonly status: number;
  /** Upper snake case, stable. */
  readonly code: string;
  readonly message: string;
  readonly details?: readonly WireDetail[];
}

/** Answers with `data`, which is JSON text already. */
export function writeData(ctx: Context, data: string, status: number): void {
  writeJson(ctx, status, `{"data":${data},"metadata":${metadata(ctx, '"OK"')}}`);
}

/** Answers with `data` as it came, however large: none of it is copied. */
export function writeDataParts(ctx: Context, data: JsonParts, status: number): void {
  const before = Buffer.from('{"data":');
  const after = Buffer.from(`,"metadata":${metadata(ctx, '"OK"')}}`);
  const size = before.byteLength + sizeOf(data) + after.byteLength;
  sendHead(ctx, status, ['Content-Type', contentType, 'Content-Length', String(size)]);
  ctx.res.cork();
  for (const part of [before, ...data.json, after]) ctx.res.write(part);
  ctx.res.end();
}

/** Answers with the error envelope. */
export function writeRefusal(ctx: Context, { status, code, message, details = [] }: Refusal): void {
  const error = JSON.stringify({ code, message, details });
  writeJson(ctx, status, `{"error":${error},"metadata":${metadata(ctx, JSON.stringify(message))}}`);
}

/** Answers with JSON text as it is, without the envelope. */
export function writeJson(ctx: Context, status: number, json: string): void {
  sendHead(ctx, status, ['Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(json))]);
  ctx.res.end(json);
}

function metadata({ state }: Context, message: string): string {
  const more = state.replyMetadata === undefined ? '' : `,${JSON.stringify(state.replyMetadata).slice(1, -1)}`;
  return `{"message":${message},"request_id":${JSON.stringify(state.requestId)},"timestamp":${nowText()}${more}}`;
}
