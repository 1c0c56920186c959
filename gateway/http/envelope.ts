import type { Context } from './context.ts';
import type { WireDetail } from './fields.ts';
import { sendHead } from './head.ts';
import { nowText, sizeOf, type JsonParts } from './json.ts';

const contentType = 'application/json; charset=utf-8';

/** A refused request, as its caller sees it. */
interface Refusal {
  readonly status: number;
  /** Upper snake case, stable. */
  readonly code: string;
  readonly message: string;
  readonly details?: readonly WireDetail[];
}

/** Writes the envelope around `data`, which is JSON text. */
export function writeData(ctx: Context, data: string, status: number): void {
  writeJson(ctx, status, `{"data":${data},"metadata":${metadata(ctx, '"OK"')}}`);
}

/** Writes the envelope around `data`, whose parts are not copied. */
export function writeDataParts(ctx: Context, data: JsonParts, status: number): void {
  const before = Buffer.from('{"data":');
  const after = Buffer.from(`,"metadata":${metadata(ctx, '"OK"')}}`);
  const size = before.byteLength + sizeOf(data) + after.byteLength;
  sendHead(ctx, status, ['Content-Type', contentType, 'Content-Length', String(size)]);
  ctx.res.cork();
  for (const part of [before, ...data.json, after]) ctx.res.write(part);
  ctx.res.end();
}

/** Writes the error envelope. */
export function writeRefusal(ctx: Context, refusal: Refusal): void {
  writeJson(ctx, refusal.status, refusalJson(refusal, metadata(ctx, JSON.stringify(refusal.message))));
}

/** The error envelope for a request that never became one, as malformed HTTP. */
export const refusalOfUnread = (refusal: Omit<Refusal, 'status'>, requestId: string): string =>
  refusalJson(refusal, metadataOf(JSON.stringify(refusal.message), requestId));

const refusalJson = ({ code, message, details = [] }: Omit<Refusal, 'status'>, metadataJson: string): string =>
  `{"error":${JSON.stringify({ code, message, details })},"metadata":${metadataJson}}`;

/** Writes JSON text without the envelope. */
export function writeJson(ctx: Context, status: number, json: string): void {
  sendHead(ctx, status, ['Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(json))]);
  ctx.res.end(json);
}

function metadata({ state }: Context, usual: string): string {
  const { message, ...entries } = state.replyMetadata ?? {};
  const more = Object.keys(entries).length === 0 ? '' : `,${JSON.stringify(entries).slice(1, -1)}`;
  return metadataOf(message === undefined ? usual : JSON.stringify(message), state.requestId, more);
}

const metadataOf = (message: string, requestId: string, more = ''): string =>
  `{"message":${message},"request_id":${JSON.stringify(requestId)},"timestamp":${nowText()}${more}}`;
