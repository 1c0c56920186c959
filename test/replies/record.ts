/**
 * Writes each reply of each HTTP server of the process into the folder that `REPLIES` names, a file for each thread and a line
 * for each reply. Preloaded with `NODE_OPTIONS=--import=…/record.ts`; without `REPLIES` it does nothing. What differs between
 * two runs of the same version is blanked: times, ids, cursors, durations, and the texts of `message` and `msg`.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { ServerResponse } from 'node:http';
import { threadId } from 'node:worker_threads';
import type { Reply } from './reply.ts';

const blanks: readonly (readonly [text: RegExp, blank: string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, 'TIME'],
  [/\b[0-9a-f]{32,64}\b/g, 'HEX'],
  // Threads that tests number as they come, side by side.
  [/\bthread-\d+\b/g, 'thread-N'],
  [/"(message|msg)":"(?:[^"\\]|\\.)*"/g, '"$1":"TEXT"'],
  [/"(next_cursor|cursor|ticket|token)":"(?:[^"\\]|\\.)*"/g, '"$1":"OPAQUE"'],
  [/127\.0\.0\.1:\d+/g, 'HOST'],
  [/\b\d{9,}(?:\.\d+)?\b/g, 'N'],
  [/"(\w*(?:duration|elapsed|latency|ms|seconds))":[\d.]+/g, '"$1":N'],
];

const folder = process.env['REPLIES'];
if (folder !== undefined && folder !== '') recordInto(folder);

function recordInto(place: string): void {
  mkdirSync(place, { recursive: true });
  const file = `${place}/${process.pid}-${threadId}.jsonl`;
  const bodies = new WeakMap<ServerResponse, Buffer[]>();
  const keep = (response: ServerResponse, chunk: unknown, encoding: unknown): void => {
    const bytes = bytesOf(chunk, encoding);
    if (bytes === undefined) return;
    const chunks = bodies.get(response) ?? [];
    bodies.set(response, chunks);
    chunks.push(bytes);
  };
  const replies = ServerResponse.prototype;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the reply as `this`
  const { write, end } = replies;
  replies.write = function (this: ServerResponse, ...args: Parameters<typeof write>) {
    keep(this, args[0], args[1]);
    return write.apply(this, args);
  } as typeof write;
  replies.end = function (this: ServerResponse, ...args: Parameters<typeof end>) {
    keep(this, args[0], args[1]);
    const ended = end.apply(this, args);
    const reply = replyOf(this, Buffer.concat(bodies.get(this) ?? []).toString('utf8'));
    appendFileSync(file, `${JSON.stringify(reply)}\n`);
    return ended;
  } as typeof end;
}

function bytesOf(chunk: unknown, encoding: unknown): Buffer | undefined {
  if (typeof chunk === 'string') {
    return Buffer.from(chunk, typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8');
  }
  return chunk instanceof Uint8Array ? Buffer.from(chunk) : undefined;
}

/** The digest is that of the whole blanked body; its first 3,000 characters stand beside it, for people. */
function replyOf(response: ServerResponse, text: string): Reply {
  const body = blank(text);
  return {
    key: blank(`${response.req.method ?? ''} ${response.req.url ?? ''}`).slice(0, 400),
    status: response.statusCode,
    type: String(response.getHeader('content-type') ?? ''),
    digest: createHash('sha256').update(body).digest('hex'),
    bytes: body.length,
    body: body.slice(0, 3000),
  };
}

function blank(text: string): string {
  return blanks.reduce((rest, [found, by]) => rest.replace(found, by), text);
}
