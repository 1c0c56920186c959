import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode, NatsError, type Msg } from 'nats';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import {
  busyWorkers,
  lateWorker,
  lostWorker,
  maxReduceBytes,
  noWorker,
  refuseLargeCall,
} from '../../code-call-errors.ts';
import type { CodeCalls, ReduceRequest } from '../../../ports/code-calls.ts';
import { fromNatsError, isNoResponder, type NatsClient } from '../client/client.ts';
import { poolOf } from '../client/pools.ts';
import { subjectOfPool } from '../client/subjects.ts';
import { numberIn, partBytesOf, toHeaders, type CallStep, type WorkerStep } from './messages.ts';
import { fromReplyText, toCallText } from './texts.ts';

interface CallerOptions {
  readonly client: NatsClient;
  readonly prefix: string;
}

/** How long one answer may take before the worker counts as lost, in milliseconds. */
const answerMs = 5000;
/** Pauses before busy workers are asked again, in milliseconds. */
const busyMs = 50;

interface Sending {
  readonly call: Call;
  readonly values: Readonly<Record<string, string | number>>;
  /** Called with an answer that comes when the caller has gone. */
  readonly onLeft?: (answer: Msg) => void;
}

interface Asked {
  readonly request: ReduceRequest;
  readonly call: Call;
  /** The worker's subject of this call. */
  readonly to: string;
}

/** Calls workers over NATS, part by part: each part is sent when the one before it is there. */
export function createCaller({ client, prefix }: CallerOptions): CodeCalls['reduce'] {
  const send = async (subject: string, payload: Uint8Array, { call, values, onLeft }: Sending): Promise<Msg> => {
    const { signal, deadline } = call;
    signal.throwIfAborted();
    // A timer may fire a millisecond early, when the deadline has not passed: the worker would count as lost.
    const timeoutMs = Math.max(1, Math.min(answerMs, deadline - Date.now() + 1));
    const answer = client.request(subject, payload, { headers: toHeaders(values), timeoutMs });
    return untilAborted(answer, signal).catch((error: unknown) => {
      // An answer that comes after its caller has gone is for nobody.
      if (signal.aborted && onLeft) void answer.then(onLeft, () => undefined);
      throw error;
    });
  };

  /** The worker gives up its place for the call, and its work if that is still going on. */
  const end = (to: string): void => {
    if (to !== '' && client.isConnected())
      client.connection.publish(to, nothing, { headers: toHeaders({ step: 'end' satisfies CallStep }) });
  };

  /** Offers the first part to the workers until one of them takes it. Resolves with its subject of the call. */
  const offer = async (
    request: ReduceRequest,
    call: Call,
    first: { readonly part: Buffer; readonly total: number },
  ): Promise<string> => {
    const subject = subjectOfPool(prefix, poolOf(request));
    for (;;) {
      const left = call.deadline - Date.now();
      if (left <= busyMs) throw busyWorkers(request);
      const values = { total: first.total, left };
      const answer = await send(subject, first.part, { call, values, onLeft: (late) => end(subjectIn(late, subject)) });
      const to = subjectIn(answer, subject);
      if (stepOf(answer) === 'taken' && to !== '') return to;
      await delay(busyMs * (1 + Math.random()), undefined, { signal: call.signal });
    }
  };

  const sendParts = async ({ request, call, to }: Asked, text: Buffer, partBytes: number): Promise<void> => {
    for (let at = partBytes; at < text.byteLength; at += partBytes) {
      const answer = await send(to, text.subarray(at, at + partBytes), {
        call,
        values: { step: 'part' satisfies CallStep, at },
      });
      if (stepOf(answer) !== 'taken') throw lostWorker(request);
    }
  };

  const readReply = async ({ request, call, to }: Asked): Promise<Buffer> => {
    const parts: Buffer[] = [];
    for (let at = 0, total = Infinity; at < total;) {
      const answer = await send(to, nothing, { call, values: { step: 'reply' satisfies CallStep, at } });
      const step = stepOf(answer);
      if (step === 'waits') continue;
      total = numberIn(answer.headers, 'total');
      const { byteLength } = answer.data;
      const isPart = step === 'reply' && total <= maxReplyBytes && byteLength > 0 && at + byteLength <= total;
      if (!isPart) throw lostWorker(request);
      parts.push(Buffer.from(answer.data));
      at += byteLength;
    }
    return Buffer.concat(parts);
  };

  return async (request, call) => {
    const text = toCallText(request);
    refuseLargeCall(text.byteLength);
    const partBytes = partBytesOf(client.connection.info?.max_payload);
    let to: string | undefined;
    try {
      to = await offer(request, call, { part: text.subarray(0, partBytes), total: text.byteLength });
      await sendParts({ request, call, to }, text, partBytes);
      const reply = fromReplyText(await readReply({ request, call, to }));
      if (isServiceError(reply)) throw reply;
      return reply;
    } catch (error) {
      throw toCallError(error, { request, call, isTaken: to !== undefined });
    } finally {
      end(to ?? '');
    }
  };
}

const nothing = new Uint8Array(0);
/** A reply holds an error, or fields within the bound. */
const maxReplyBytes = maxReduceBytes + 64 * 1024;

/**
 * The subject of a call that a worker has taken; empty when it has not. A worker may belong to another team: only a subject of its own pool
 * counts, because this process may publish more than it may.
 */
function subjectIn({ headers }: Msg, poolSubject: string): string {
  const to = headers?.get('to') ?? '';
  const ids = to.startsWith(`${poolSubject}.`) ? to.slice(poolSubject.length + 1).split('.') : [];
  return ids.length === 2 && ids.every((id) => /^[\w-]+$/.test(id)) ? to : '';
}

const stepOf = ({ headers }: Msg): WorkerStep => (headers?.get('step') ?? 'unknown') as WorkerStep;

interface Failed {
  readonly request: ReduceRequest;
  readonly call: Call;
  /** Whether a worker had taken the call. */
  readonly isTaken: boolean;
}

function toCallError(error: unknown, { request, call: { signal, deadline }, isTaken }: Failed): unknown {
  if (Date.now() >= deadline && !isServiceError(error)) return lateWorker(request);
  if (signal.aborted) return signal.reason;
  if (isNoResponder(error)) return isTaken ? lostWorker(request) : noWorker(request);
  if (error instanceof NatsError && error.code === ErrorCode.Timeout.toString()) return lostWorker(request);
  return fromNatsError(error);
}

/** @throws the signal's reason when it fires first. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const end = Promise.withResolvers<never>();
  const stop = (): void => end.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, end.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
