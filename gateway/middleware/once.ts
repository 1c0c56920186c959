import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fromUnknown, invalid, isServiceError, ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import type { Call } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import type { RunStream } from '../endpoints/endpoint.ts';
import type { OnceCache } from '../once/port.ts';
import { jsonBytes, jsonText } from '../replies/json.ts';
import type { Context } from './context.ts';
import { statusOf } from './errors.ts';

/** What a request is done under, of those that carry an `Idempotency-Key`. */
export interface Once {
  /** Stands for owner, method, path and key. */
  readonly key: string;
  readonly bodyHash: string;
  /** A run that was started is joined by who starts it again: nothing is gained by waiting for the other's reply. */
  readonly startsRun: boolean;
}

type Reply = string | RunStream;
type Work = () => Promise<Reply> | Reply;

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** How the request names itself; `undefined` when it may be done as often as it is sent. */
export function readOnce({ req, method, path, querystring, state }: Context, startsRun: boolean): Once | undefined {
  const given = req.headers['idempotency-key'];
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !visibleAscii.test(given)) {
    throw invalid(['header', 'Idempotency-Key'], 'must be 1 to 255 visible ASCII characters', 'idempotency_key');
  }
  const bodyHash = sha256([querystring, JSON.stringify(state.body ?? null)]).toString('base64url');
  return { key: toUuid(sha256([state.principal.owner, method, path, given])), bodyHash, startsRun };
}

/** Ids for what a request makes: new ones, or, for one that is done once, the same at every attempt. */
export const idMaker =
  (once: Once | undefined) =>
  (what: string): string =>
    once ? toUuid(sha256([once.key, what])) : newId();

/** Does the work of a request that carries a key, or gives the reply that it was given before. */
export type DoOnce = (ctx: Context, once: Once, call: Call, work: Work) => Promise<Reply>;

/**
 * Does work once for each key: whoever sends the request again gets the reply of the first, also while that is under way.
 * The record is the threads service's; what is under way here, and the cache, only spare asking it.
 */
export function createOnce(threads: Threads, cache: OnceCache): DoOnce {
  const underWay = new Map<string, { readonly bodyHash: string; readonly reply: Promise<Reply> }>();

  /** What another attempt, through another gateway, is answered; `undefined` when it is not soon: it may have died. */
  const replyOfOther = async (owner: string, { key, bodyHash }: Once, call: Call): Promise<Uint8Array | undefined> => {
    for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += askAgainMs) {
      await delay(askAgainMs, undefined, { signal: call.signal });
      const { replyJson } = await threads.beginOnce({ owner, onceKey: key, bodyHash }, call);
      if (replyJson) return replyJson;
    }
    return undefined;
  };

  /** What was deleted since is not told again by the reply that was kept. @throws NotFound then. */
  const replayWhatStands = async (ctx: Context, once: Once, call: Call, replyJson: Uint8Array): Promise<string> => {
    const reply = replay(jsonText(replyJson));
    const { owner } = ctx.state.principal;
    const { thread_id: threadId } = (ctx.state.params ?? {}) as { readonly thread_id?: string };
    if (once.startsRun) await threads.getRun({ owner, runId: idMaker(once)('run') }, call);
    else if (threadId !== undefined && ctx.method !== 'DELETE') await threads.getThread({ owner, threadId }, call);
    return reply;
  };

  const lead = async (ctx: Context, once: Once, call: Call, work: Work): Promise<Reply> => {
    const { key, bodyHash } = once;
    const cached = await cache.get(key);
    if (cached && cached.bodyHash !== bodyHash) throw otherBody();
    const { owner } = ctx.state.principal;
    if (cached) return replayWhatStands(ctx, once, call, cached.replyJson);
    const { isNew, replyJson } = await threads.beginOnce({ owner, onceKey: key, bodyHash }, call);
    const known = replyJson ?? (isNew || once.startsRun ? undefined : await replyOfOther(owner, once, call));
    if (known) return replayWhatStands(ctx, once, call, known);
    const reply = await outcomeOf(work, ctx.method === 'DELETE' && !isNew);
    const kept = typeof reply === 'string' || reply instanceof ServiceError ? toKept(reply) : undefined;
    if (kept) {
      await threads.endOnce({ owner, onceKey: key, replyJson: kept }, call);
      void cache.put(key, { bodyHash, replyJson: kept });
    }
    if (reply instanceof ServiceError) throw reply;
    return reply;
  };

  return async (ctx, once, call, work) => {
    for (let first = underWay.get(once.key); first; first = underWay.get(once.key)) {
      if (first.bodyHash !== once.bodyHash) throw otherBody();
      const reply = await first.reply.catch(unlessGone);
      if (typeof reply === 'string') return reply;
      // The first followed a stream of its own, or its caller went away before the work was done.
      if (reply) return lead(ctx, once, call, work);
    }
    const reply = lead(ctx, once, call, work);
    underWay.set(once.key, { bodyHash: once.bodyHash, reply });
    try {
      return await reply;
    } finally {
      underWay.delete(once.key);
    }
  };
}

/** How long an attempt that another gateway has is waited for, in milliseconds, and how often it is asked about. */
const patienceMs = 2000;
const askAgainMs = 50;

const otherBody = (): ServiceError =>
  invalid(['header', 'Idempotency-Key'], 'was used with another body', 'idempotency_key');

function unlessGone(error: unknown): undefined {
  if (isServiceError(error, 'Cancelled')) return undefined;
  throw error;
}

/** What the work came to. A deletion that an earlier attempt had done finds nothing left, which is what it was to reach. */
async function outcomeOf(work: Work, isRepeatedDelete: boolean): Promise<Reply | ServiceError> {
  try {
    return await work();
  } catch (error) {
    const failure = fromUnknown(error);
    return isRepeatedDelete && failure.code === 'NotFound' ? '{"success":true}' : failure;
  }
}

/** Replies that are larger are made anew from what the work left behind. */
const maxKeptBytes = 1024 * 1024;

/** A reply as it is kept, also one that refuses; `undefined` for one that says to try again. */
function toKept(reply: string | ServiceError): Uint8Array | undefined {
  if (reply instanceof ServiceError && (statusOf(reply.code) === 429 || statusOf(reply.code) >= 499)) return undefined;
  const replyJson = jsonBytes(typeof reply === 'string' ? { data: reply } : { refused: refusalOf(reply) });
  return replyJson.length <= maxKeptBytes ? replyJson : undefined;
}

const refusalOf = ({ code, message, details }: ServiceError): Record<string, unknown> => ({ code, message, details });

function replay(json: string): string {
  const { data, refused } = JSON.parse(json) as {
    data?: string;
    refused?: { code: ErrorCode; message: string; details: ServiceError['details'] };
  };
  if (data !== undefined) return data;
  if (refused) throw new ServiceError(refused.code, refused.message, { details: refused.details });
  throw new ServiceError('Internal', 'the kept reply cannot be read');
}

/** Parts are told apart by their lengths, so that no two lists of parts hash alike. */
function sha256(parts: readonly string[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${String(Buffer.byteLength(part))}:${part}`);
  return hash.digest();
}

/** The first 16 bytes of a hash as a UUIDv8 (RFC 9562, section 5.8). */
function toUuid(hash: Buffer): string {
  const bytes = Buffer.from(hash.subarray(0, 16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
