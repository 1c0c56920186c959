import { setTimeout as delay } from 'node:timers/promises';
import { absentAgent } from '@agent-workflow/kit/agents';
import {
  ServiceError,
  type ErrorCode,
  type ErrorDetail,
  fromUnknown,
  isServiceError,
  notFound,
  undefinedIfNotFound,
} from '@agent-workflow/kit/errors';
import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
import { within, type Call } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type {
  BeginOnceReply,
  IdempotencyCalls,
  ResourceCalls,
  Run,
  RunReadCalls,
  ThreadReadCalls,
} from '@agent-workflow/protos/threads';
import type { FileContent } from '../http/content.ts';
import type { Context } from '../http/context.ts';
import type { EndpointRequest, RunStream, ThreadStream } from '../http/endpoint.ts';
import type { SocketReply } from '../http/talk.ts';
import { statusOf } from '../http/errors.ts';
import { invalidAt } from '../http/fields.ts';
import { jsonBytes, sizeOf, type JsonParts, jsonText } from '../http/json.ts';
import { idMaker, type IdempotentRequest } from './key.ts';
import type { ReplyCache } from './port.ts';

/** A larger reply is not stored, only that the request succeeded: the reply is then made again from the records of the services. */
const maxStoredBytes = 1024 * 1024;

/** Stands for a reply that is made again from the records of the services. */
const doneMarker = jsonBytes({ done: true });

/**
 * The JSON under which a reply or a refusal is stored. `undefined` for a refusal that depends on the moment (409, 429 and
 * everything from 499 on): the next attempt may succeed.
 */
function toStored(reply: string | JsonParts | ServiceError): Uint8Array | undefined {
  if (reply instanceof ServiceError && dependsOnMoment(statusOf(reply.code))) return undefined;
  if (!(reply instanceof ServiceError) && typeof reply !== 'string' && sizeOf(reply) > maxStoredBytes)
    return doneMarker;
  const replyJson = jsonBytes(reply instanceof ServiceError ? { refused: refusalOf(reply) } : { data: textOf(reply) });
  return replyJson.length <= maxStoredBytes ? replyJson : doneMarker;
}

/**
 * The reply that was stored; `undefined` for {@link doneMarker}.
 * @throws the refusal, when a refusal was stored.
 */
function fromStored(json: string): string | undefined {
  const { data, done, refused } = JSON.parse(json) as { data?: string; done?: true; refused?: Refused };
  if (data !== undefined || done) return data;
  if (refused) throw new ServiceError(refused.code, refused.message, { details: refused.details });
  throw new ServiceError('Internal', 'the stored reply to an idempotent request cannot be read');
}

const dependsOnMoment = (status: number): boolean => status === 409 || status === 429 || status >= 499;

const textOf = (reply: string | JsonParts): string =>
  typeof reply === 'string' ? reply : Buffer.concat(reply.json).toString();

/** A refusal as it is stored. */
interface Refused {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

const refusalOf = ({ code, message, details }: ServiceError): Refused => ({ code, message, details });

type Reply = string | JsonParts | RunStream | ThreadStream | FileContent | SocketReply;
type Attempt = Pick<EndpointRequest, 'at' | 'isRepeated' | 'markAccepted'>;
type Work = (attempt: Attempt) => Promise<Reply> | Reply;

/** Makes the deadline and signal of each call to a service: the work may take longer than one call may. */
type MakeCall = () => Call;

/** Does the work of a request with an idempotency key, or gives the reply to an earlier request with that key. */
export type RunIdempotently = (
  ctx: Context,
  idempotent: IdempotentRequest,
  call: MakeCall,
  work: Work,
) => Promise<Reply>;

/** The calls that keep and find the reply of a request, and those that find what it is about. */
interface Calls {
  readonly threads: IdempotencyCalls &
    Pick<RunReadCalls, 'getRun'> &
    Pick<ThreadReadCalls, 'getThread'> &
    Pick<ResourceCalls, 'getResource'>;
  readonly memory: Pick<Memory, 'get'>;
}

/**
 * Does work once for each key. A repeated request gets the reply of the first one, also while the first is under way. The
 * record of the keys is the threads service's; the requests under way in this process and the cache only save calls to it.
 */
export function createIdempotency(calls: Calls, cache: ReplyCache): RunIdempotently {
  const underWay = createShortLivedMap<string, { readonly bodyHash: string; readonly reply: Promise<Reply> }>();
  const runFirst = createAttempts(calls, cache);

  return async (ctx, idempotent, call, work) => {
    for (let first = underWay.get(idempotent.key); first; first = underWay.get(idempotent.key)) {
      if (first.bodyHash !== idempotent.bodyHash) throw otherBody();
      const reply = await first.reply.catch(undefinedIfCancelled);
      if (reply !== undefined && !isStream(reply)) return reply;
      // The first request has a stream of its own, or its caller disconnected before the work was done.
      if (reply) return runFirst(ctx, idempotent, call, work);
    }
    const reply = runFirst(ctx, idempotent, call, work);
    underWay.set(idempotent.key, { bodyHash: idempotent.bodyHash, reply });
    try {
      return await reply;
    } finally {
      underWay.delete(idempotent.key);
    }
  };
}

/** Does the work of requests whose key no other request of this process uses at the moment. */
function createAttempts({ threads, memory }: Calls, cache: ReplyCache): RunIdempotently {
  /**
   * Puts the key on record. When another gateway has put it there and has no reply yet, this waits for the reply, for
   * `maxWaitMs` at most: that gateway may have died.
   */
  const begin = async (
    owner: string,
    { key, bodyHash, startsRun }: IdempotentRequest,
    call: MakeCall,
  ): Promise<BeginOnceReply> => {
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const begun = await threads.beginOnce({ owner, onceKey: key, bodyHash }, call());
      if (begun.isNew || begun.replyJson || startsRun || waitedMs >= maxWaitMs) return begun;
      await delay(pollMs, undefined, { signal: call().signal });
    }
  };

  /** One that starts later is a schedule until it is on record, and for a moment both. @throws NotFound */
  const findRun = async (owner: string, runId: string, call: MakeCall): Promise<void> => {
    const find = (): Promise<Run | undefined> => undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
    if (await find()) return;
    const key = { kind: 'schedule', owner, id: runId } as const;
    const found = (await undefinedIfNotFound(threads.getResource(key, call()))) ?? (await find());
    if (!found) throw notFound(`run "${runId}" does not exist`);
  };

  /**
   * `begun` is absent for a reply of the cache, which does not know when its request began.
   * @throws NotFound when what a stored reply is about was deleted since, also when a thread of its id was made again.
   */
  const checkNotDeleted = async (
    ctx: Context,
    idempotent: IdempotentRequest,
    begun: BeginOnceReply | undefined,
    call: MakeCall,
  ): Promise<void> => {
    const { owner } = ctx.state.principal;
    const { threadId, memory: changed } = changedOf(ctx);
    if (idempotent.startsRun) {
      await findRun(owner, idMaker(idempotent)('run'), call);
    } else if (threadId !== undefined) {
      const [{ createdAt }, { at }] = await Promise.all([
        threads.getThread({ owner, threadId }, call()),
        begun ?? begin(owner, idempotent, call),
      ]);
      if (createdAt > at + clocksDifferMs) throw notFound(`thread "${threadId}" does not exist`);
    } else if (changed) {
      await memory.get({ owner, ...changed }, call());
    }
  };

  /** Stores the reply; for a refusal that depends on the moment it removes the key instead, so that a retry does the work. */
  const end = async (
    owner: string,
    { key, bodyHash, isOfOthers }: IdempotentRequest,
    reply: Reply | ServiceError,
    call: MakeCall,
  ): Promise<void> => {
    if (isStream(reply)) return;
    const isKept = !isOfOthers || reply instanceof ServiceError;
    const replyJson = lacksAgent(reply) ? undefined : isKept ? toStored(reply) : doneMarker;
    if (replyJson) {
      await threads.endOnce({ owner, onceKey: key, replyJson }, call());
      if (replyJson !== doneMarker) void cache.put(key, { bodyHash, replyJson });
      return;
    }
    // The caller may have disconnected, so this call has a deadline of its own. When it fails, a retry waits for `maxWaitMs`.
    await threads.endOnce({ owner, onceKey: key }, within(removeMs)).catch(() => undefined);
  };

  return async (ctx, idempotent, call, work) => {
    const { key, bodyHash } = idempotent;
    const cached = await cache.get(key);
    if (cached && cached.bodyHash !== bodyHash) throw otherBody();
    const { owner } = ctx.state.principal;
    const begun = cached ? undefined : await begin(owner, idempotent, call);
    const stored = cached?.replyJson ?? begun?.replyJson;
    // A stored refusal is thrown here: its request has made no run whose deletion could count.
    const earlier = stored && fromStored(jsonText(stored));
    if (stored && !idempotent.isOfOthers && !(idempotent.mayStartNone && earlier !== undefined))
      await checkNotDeleted(ctx, idempotent, begun, call);
    if (earlier !== undefined) return earlier;

    const markAccepted = async (): Promise<void> => {
      await threads.endOnce({ owner, onceKey: key, replyJson: doneMarker }, call());
    };
    const at = new Date(begun?.at ?? Date.now());
    const isRepeatedDelete = ctx.method === 'DELETE' && begun?.isNew === false;
    const deleted = isRepeatedDelete ? ctx.state.dialect.deleted : undefined;
    const reply = await outcomeOf(() => work({ at, isRepeated: stored !== undefined, markAccepted }), deleted);
    await end(owner, idempotent, reply, call);
    if (reply instanceof ServiceError) throw reply;
    return reply;
  };
}

interface Changed {
  readonly threadId?: string;
  readonly memory?: { readonly memoryId: string; readonly scope?: string };
}

/** The thread or the memory of the path, of which a request that deletes needs none. A memory is in the scope that the input names. */
function changedOf({ method, state }: Context): Changed {
  if (method === 'DELETE') return {};
  const { thread_id: threadId, memory_id: memoryId } = (state.params ?? {}) as Readonly<Record<string, string>>;
  if (threadId !== undefined) return { threadId };
  if (memoryId === undefined) return {};
  const { scope } = (state.input ?? {}) as { readonly scope?: string };
  return { memory: { memoryId, ...(scope !== undefined && { scope }) } };
}

/** How far the clocks of two threads services may differ: one dates a thread, another the request that came after it. */
const clocksDifferMs = 1000;

/** How long the reply to the same request at another gateway is waited for, and how often the record is read meanwhile. */
const maxWaitMs = 2000;
const pollMs = 50;

/** Deadline of the removal of a key, in milliseconds. */
const removeMs = 5000;

const otherBody = (): ServiceError =>
  invalidAt(['header', 'Idempotency-Key'], 'was used with another body', 'idempotency_key');

function undefinedIfCancelled(error: unknown): undefined {
  if (isServiceError(error, 'Cancelled')) return undefined;
  throw error;
}

/** The reply of the work, or why it was refused. A repeated deletion that finds nothing has succeeded at the earlier attempt, and is answered with `deleted`. */
async function outcomeOf(work: () => ReturnType<Work>, deleted: string | undefined): Promise<Reply | ServiceError> {
  try {
    return await work();
  } catch (error) {
    const failure = fromUnknown(error);
    return deleted !== undefined && failure.code === 'NotFound' ? deleted : failure;
  }
}

/** An agent may come with the next deployment. */
const lacksAgent = (reply: Reply | ServiceError): boolean =>
  reply instanceof ServiceError && reply.details.some(({ type }) => type === absentAgent);

/** No change is answered by a stream or by the bytes of a file. */
const isStream = (reply: Reply | ServiceError): reply is RunStream | ThreadStream | FileContent | SocketReply =>
  typeof reply === 'object' && ('follow' in reply || 'runs' in reply || 'open' in reply || 'talk' in reply);
