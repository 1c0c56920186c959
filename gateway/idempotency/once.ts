import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fromUnknown, isServiceError, ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { within, type Call } from '@agent-workflow/protos/call';
import type { BeginOnceReply, Threads } from '@agent-workflow/protos/threads';
import { invalidAt, located, toWireError, type WireDetail } from '../http/fields.ts';
import type { Ask, RunStream } from '../http/endpoint.ts';
import type { OnceCache } from './port.ts';
import { jsonBytes, jsonText, sizeOf, type JsonParts } from '../http/json.ts';
import type { Context } from '../http/context.ts';
import { statusOf } from '../http/errors.ts';

/** What a request is done under, of those that carry an `Idempotency-Key`. */
export interface Once {
  /** Stands for owner, method, path and key. */
  readonly key: string;
  readonly bodyHash: string;
  /** A run that was started is joined by who starts it again: nothing is gained by waiting for the other's reply. */
  readonly startsRun: boolean;
}

type Reply = string | JsonParts | RunStream;
type Work = (begun: Pick<Ask, 'at' | 'wasDone' | 'accepted'>) => Promise<Reply> | Reply;

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** How the request names itself; `undefined` when it may be done as often as it is sent. */
export function readOnce({ req, method, path, querystring, state }: Context, startsRun: boolean): Once | undefined {
  const given = req.headers['idempotency-key'];
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !visibleAscii.test(given)) {
    throw invalidAt(['header', 'Idempotency-Key'], 'must be 1 to 255 visible ASCII characters', 'idempotency_key');
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

  /** How far the request came: one that another gateway has is waited for, unless it is not answered soon; it may have died. */
  const begin = async (owner: string, { key, bodyHash, startsRun }: Once, call: Call): Promise<BeginOnceReply> => {
    for (let waitedMs = 0; ; waitedMs += askAgainMs) {
      const begun = await threads.beginOnce({ owner, onceKey: key, bodyHash }, call);
      if (begun.isNew || begun.replyJson || startsRun || waitedMs >= patienceMs) return begun;
      await delay(askAgainMs, undefined, { signal: call.signal });
    }
  };

  /** What was deleted since is not told again. @throws NotFound then. */
  const checkWhatStands = async (ctx: Context, once: Once, call: Call): Promise<void> => {
    const { owner } = ctx.state.principal;
    const { thread_id: threadId } = (ctx.state.params ?? {}) as { readonly thread_id?: string };
    if (once.startsRun) await threads.getRun({ owner, runId: idMaker(once)('run') }, call);
    else if (threadId !== undefined && ctx.method !== 'DELETE') await threads.getThread({ owner, threadId }, call);
  };

  const lead = async (ctx: Context, once: Once, call: Call, work: Work): Promise<Reply> => {
    const { key, bodyHash } = once;
    const cached = await cache.get(key);
    if (cached && cached.bodyHash !== bodyHash) throw otherBody();
    const { owner } = ctx.state.principal;
    const begun = cached ? undefined : await begin(owner, once, call);
    const known = cached?.replyJson ?? begun?.replyJson;
    if (known) await checkWhatStands(ctx, once, call);
    const told = known && replay(jsonText(known));
    if (told !== undefined) return told;

    const accepted = async (): Promise<void> => {
      await threads.endOnce({ owner, onceKey: key, replyJson: done }, call);
    };
    const at = new Date(begun?.at ?? Date.now());
    const isRepeatedDelete = ctx.method === 'DELETE' && begun?.isNew === false;
    const reply = await outcomeOf(() => work({ at, wasDone: known !== undefined, accepted }), isRepeatedDelete);
    await keep(owner, once, reply, call);
    if (reply instanceof ServiceError) throw reply;
    return reply;
  };

  /** Keeps what whoever sends the request again is told; what is not kept leaves the key to them, who do it then. */
  const keep = async (
    owner: string,
    { key, bodyHash }: Once,
    reply: Reply | ServiceError,
    call: Call,
  ): Promise<void> => {
    if (isStream(reply)) return;
    const replyJson = toKept(reply);
    if (replyJson) {
      await threads.endOnce({ owner, onceKey: key, replyJson }, call);
      if (replyJson !== done) void cache.put(key, { bodyHash, replyJson });
      return;
    }
    // Whoever comes next finds out by waiting, if this does not arrive. The caller may have gone: it is not part of their call.
    await threads.endOnce({ owner, onceKey: key }, within(leaveMs)).catch(() => undefined);
  };

  return async (ctx, once, call, work) => {
    for (let first = underWay.get(once.key); first; first = underWay.get(once.key)) {
      if (first.bodyHash !== once.bodyHash) throw otherBody();
      const reply = await first.reply.catch(unlessGone);
      if (reply !== undefined && !isStream(reply)) return reply;
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
  invalidAt(['header', 'Idempotency-Key'], 'was used with another body', 'idempotency_key');

function unlessGone(error: unknown): undefined {
  if (isServiceError(error, 'Cancelled')) return undefined;
  throw error;
}

/** What the work came to. A deletion that an earlier attempt had done finds nothing left, which is what it was to reach. */
async function outcomeOf(work: () => ReturnType<Work>, isRepeatedDelete: boolean): Promise<Reply | ServiceError> {
  try {
    return await work();
  } catch (error) {
    const failure = fromUnknown(error);
    return isRepeatedDelete && failure.code === 'NotFound' ? '{"success":true}' : failure;
  }
}

/** How long a key may take to be left, in milliseconds. */
const leaveMs = 5000;

/** A reply that is larger is not kept, only that there was one: the services know the request, and tell it again. */
const maxKeptBytes = 1024 * 1024;

/** Kept in place of a reply that is made again from what is on record. */
const done = jsonBytes({ done: true });

/**
 * A reply as it is kept, also one that refuses; `undefined` for one that says how things stood at that moment: who tries again
 * may find them otherwise.
 */
function toKept(reply: string | JsonParts | ServiceError): Uint8Array | undefined {
  if (reply instanceof ServiceError && isOfTheMoment(statusOf(reply.code))) return undefined;
  if (!(reply instanceof ServiceError) && typeof reply !== 'string' && sizeOf(reply) > maxKeptBytes) return done;
  const replyJson = jsonBytes(reply instanceof ServiceError ? { refused: refusalOf(reply) } : { data: textOf(reply) });
  return replyJson.length <= maxKeptBytes ? replyJson : done;
}

const isStream = (reply: Reply | ServiceError): reply is RunStream => typeof reply === 'object' && 'follow' in reply;

const textOf = (reply: string | JsonParts): string =>
  typeof reply === 'string' ? reply : Buffer.concat(reply.json).toString();

const isOfTheMoment = (status: number): boolean => status === 409 || status === 429 || status >= 499;

const refusalOf = (error: ServiceError): Refused => ({ code: error.code, ...toWireError(error) });

/** A refusal as it is kept. */
interface Refused {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: readonly WireDetail[];
}

/** The reply that was kept; `undefined` when only that there was one. */
function replay(json: string): string | undefined {
  const { data, done, refused } = JSON.parse(json) as {
    data?: string;
    done?: true;
    refused?: Refused;
  };
  if (data !== undefined || done) return data;
  if (refused) throw new ServiceError(refused.code, refused.message, { details: refused.details.map(located) });
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
