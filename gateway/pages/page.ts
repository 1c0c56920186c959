import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { sendHead } from '../http/reply.ts';
import type { Context } from '../http/context.ts';
import { refuseMethod } from '../http/unmatched.ts';

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
} as const;

/** The bytes of a document in one encoding. */
interface Form {
  readonly body: Buffer;
  /** A strong validator: it changes with the body and the encoding. */
  readonly etag: string;
}

/** A document for browsers, as it is sent. */
export interface Page {
  readonly type: string;
  readonly plain: Form;
  /** For callers that read gzip; absent where it saves little. */
  readonly zipped?: Form;
  readonly policy: string;
}

const closed = "default-src 'none'; style-src 'self'; img-src 'self' data:";
const unframed = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** What a page may load: style sheets and images of its own origin. It runs no script. */
const policyOfTexts = `${closed}; ${unframed}`;

/** What a page with scripts may do: run those of its own origin, and call this origin. */
export const policyOfScripts = `${closed}; script-src 'self'; connect-src 'self'; ${unframed}`;

/**
 * The playground besides shows images and sounds that it has fetched with its token, and starts workers of its own origin. `origins`: which others it
 * calls.
 */
export const policyOfPlayground = (...origins: readonly string[]): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src ${["'self'", ...origins].join(' ')}; worker-src 'self'; ${unframed}`;

/** What a worker may do that evaluates expressions: compile text, and nothing else. */
export const policyOfExpressions = `default-src 'none'; script-src 'unsafe-eval'; ${unframed}`;

export function toPage(type: keyof typeof types, content: string | Buffer, policy = policyOfTexts): Page {
  const body = Buffer.from(content);
  return { type: types[type], plain: { body, etag: `"${hashOf(body)}"` }, policy };
}

/** The page, also compressed. */
export async function withGzip(page: Page): Promise<Page> {
  const { body } = page.plain;
  return { ...page, zipped: { body: await promisify(gzip)(body, { level: 9 }), etag: `"${hashOf(body)}-gzip"` } };
}

const hashOf = (body: Buffer): string => createHash('sha256').update(body).digest('base64url').slice(0, 22);

/** Answers GET and HEAD with a page, 304 when the caller has it already; any other method is 405. */
export function answerWithPage(ctx: Context, page: Page): void {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') sendPage(ctx, page);
  else refuseMethod(ctx, ['GET', 'HEAD']);
}

function sendPage(ctx: Context, { type, plain, zipped, policy }: Page): void {
  ctx.state.headers = withPolicy(ctx.state.headers, policy);
  const isZipped = zipped !== undefined && ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  const { body, etag } = isZipped ? zipped : plain;
  const caching = ['Cache-Control', 'no-cache', 'ETag', etag, ...(zipped ? ['Vary', 'Accept-Encoding'] : [])];
  if (isKnown(ctx.get('If-None-Match'), etag)) {
    sendHead(ctx, 304, caching);
    ctx.res.end();
    return;
  }
  const encoding = isZipped ? ['Content-Encoding', 'gzip'] : [];
  const content = ['Content-Type', type, ...encoding, 'Content-Length', String(body.byteLength)];
  sendHead(ctx, 200, [...caching, ...content]);
  ctx.res.end(ctx.method === 'HEAD' ? undefined : body);
}

/** Replaces the policy of other replies: a browser that gets two obeys both, and the other one forbids style sheets. */
const withPolicy = (headers: readonly string[], policy: string): string[] =>
  headers.map((value, index) => (headers[index - 1] === 'Content-Security-Policy' ? policy : value));

/** A cache in between may have weakened the validator. */
const isKnown = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.split(',').some((each) => ['*', etag].includes(each.trim().replace(/^W\//, '')));
