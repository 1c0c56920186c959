/**
 * Reads and writes the events of version 0.1 as it was before events had parts: each is the whole chunk that a caller reads, in one line
 * of JSON.
 *
 *     {"event":"on_chain_end","copy":{"from":52,"length":17,"to":70},"data":{…},"message":{…},"state":{…},
 *      "thread_id":"…","run_id":"…","metadata":{"request_id":"…","thread_id":"…","is_new_thread":true,…},"timestamp":"…"}
 *
 * `copy` is present when a large part of the data occurs twice: a copy of the `length` bytes at `from` belongs at `to`. Both are counted
 * from after the comma that ends `copy`.
 *
 * This file is needed until no process of that version runs and the logs that it wrote have expired (`EVENTS_RETENTION`,
 * `EVENTS_MAX_AGE`). The second release after this one can drop it and everything that imports it.
 */
import type { EventKind } from './event-parts.ts';
import type { Execution, RunEvent, RunEvents, RunScope } from './execution.ts';

/** An event and its run. */
interface ScopedEvent {
  readonly scope: RunScope;
  readonly event: RunEvent;
}

interface OldChunk {
  readonly event: EventKind;
  readonly copy?: { readonly from: number; readonly length: number; readonly to: number };
  readonly data: unknown;
  readonly message?: unknown;
  readonly state?: unknown;
  readonly thread_id: string;
  readonly run_id: string;
  readonly metadata: {
    readonly request_id: string;
    readonly is_new_thread: boolean;
    readonly node?: string;
    readonly step?: number;
    readonly message_id?: string;
    readonly role?: string;
  };
  readonly timestamp: string;
}

const dataMember = '"data":';

/** The JSON of a value that was parsed from JSON: the same bytes from which it was parsed. */
const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Reads an event of the version before. */
export function fromOldJson(seq: number, json: Uint8Array): ScopedEvent {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString();
  const { event: kind, copy, data, message, state, metadata, timestamp, ...ids } = JSON.parse(text) as OldChunk;
  const { request_id: requestId, is_new_thread: isNewThread, node, step, message_id: messageId, role } = metadata;
  const names = Object.keys(metadata);
  // In an emitted chunk the node comes before the step.
  const emitted = kind === 'messages_chunk' && message === undefined && names.indexOf('node') < names.indexOf('step');
  const shift = dataMember.length;
  return {
    scope: { runId: ids.run_id, threadId: ids.thread_id, requestId, isNewThread },
    event: {
      seq,
      kind,
      at: Date.parse(timestamp),
      ...(node === undefined ? {} : { node }),
      ...(step === undefined ? {} : { step }),
      ...(messageId === undefined ? {} : { messageId }),
      ...(role === undefined ? {} : { role }),
      ...(emitted && node !== undefined ? { emitted } : {}),
      data: toJson(data),
      ...(copy && { repeat: { offset: copy.from - shift, length: copy.length, target: copy.to - shift } }),
      ...(message === undefined ? {} : { message: toJson(message) }),
      ...(state === undefined ? {} : { state: toJson(state) }),
    },
  };
}

/** Writes an event as the version before does. */
export function toOldJson(scope: RunScope, event: RunEvent): Uint8Array {
  const { kind, at, data, repeat, message, state } = event;
  const shift = dataMember.length;
  const copy = repeat && { from: repeat.offset + shift, length: repeat.length, to: repeat.target + shift };
  const ids = { thread_id: scope.threadId, run_id: scope.runId };
  const rest = { ...ids, metadata: toOldMetadata(scope, event), timestamp: new Date(at).toISOString() };
  return Buffer.concat([
    Buffer.from(`{"event":"${kind}",${copy ? `"copy":${JSON.stringify(copy)},` : ''}${dataMember}`),
    data,
    ...(message ? [Buffer.from(',"message":'), message] : []),
    ...(state ? [Buffer.from(',"state":'), state] : []),
    Buffer.from(`,${JSON.stringify(rest).slice(1)}`),
  ]);
}

function toOldMetadata(scope: RunScope, { kind, node, step, messageId, role, emitted }: RunEvent): object {
  const namesNodeFirst = kind === 'on_chain_stream' || emitted === true;
  return {
    request_id: scope.requestId,
    thread_id: scope.threadId,
    is_new_thread: scope.isNewThread,
    ...(namesNodeFirst ? { node, step } : { step, node }),
    message_id: messageId,
    role,
  };
}

/** An execution service for a gateway: it also reads what a replica of the version before sends. */
export const readsOldReplicas = (execution: Execution): Execution => ({
  ...execution,

  wait: async (request, call) => {
    const end = await execution.wait({ ...request, eventParts: true }, call);
    return end.json ? fromOldJson(end.seq, end.json).event : end;
  },

  async *follow(request, call) {
    for await (const batch of execution.follow({ ...request, eventParts: true }, call)) yield fromOldBatch(batch);
  },
});

function fromOldBatch(batch: RunEvents): RunEvents {
  if (!batch.events.some(({ json }) => json)) return batch;
  const read = batch.events.map((event) => (event.json ? fromOldJson(event.seq, event.json) : { event }));
  const [first] = read;
  return { events: read.map(({ event }) => event), ...(first && 'scope' in first ? { scope: first.scope } : {}) };
}

/** An execution service as it is served: a gateway of the version before does not ask for parts and gets whole chunks. */
export const servesOldGateways = (execution: Execution): Execution => ({
  ...execution,

  wait: async (request, call) => {
    const end = await execution.wait(request, call);
    if (request.eventParts === true) return end;
    const { owner, runId } = request;
    for await (const { events, scope } of execution.follow({ owner, runId, after: end.seq - 1 }, call)) {
      const [event] = events;
      if (scope && event) return toOldEvent(scope, event);
    }
    throw new Error(`the last event of run "${runId}" is not in its log`);
  },

  async *follow(request, call) {
    let known: RunScope | undefined;
    for await (const batch of execution.follow(request, call)) {
      known ??= batch.scope;
      const scope = known;
      const isOld = request.eventParts !== true && scope;
      yield isOld ? { events: batch.events.map((event) => toOldEvent(scope, event)) } : batch;
    }
  },
});

const nothing = new Uint8Array(0);

const toOldEvent = (scope: RunScope, event: RunEvent): RunEvent => ({
  ...{ seq: event.seq, kind: event.kind, json: toOldJson(scope, event) },
  ...{ at: 0, data: nothing },
});
