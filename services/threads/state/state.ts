import { conflict, isServiceError, notFound, ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type {
  AddMessagesReply,
  AddMessagesRequest,
  ClaimedRun,
  MessageEntry,
  State,
  WriteStateRequest,
} from '@agent-workflow/protos/threads';
import { answeredCalls, callsOf, type Message } from '@agent-workflow/protos/message';
import { LRUCache } from 'lru-cache';
import { fromJson, jsonArray } from '../record/json.ts';
import type { Decision, Head, Snapshot, StoredState, ThreadKey, ThreadStore } from '../ports/port.ts';
import { placeMessages } from '../record/place.ts';
import { refuseMessages, refuseMetadata, refuseSummary } from '../record/bounds.ts';
import { knownSize, refuseGrowth, sizeOfFields, type SizePlaces } from '../record/size.ts';
import { refuseOverwriting, withCheckpoint } from '../history/undo.ts';

/** Encoded states that are kept, in bytes: a state whose version still stands is answered without reading its rows. */
const cacheBytes = 16 * 1024 * 1024;

export interface StateReader {
  readonly read: (key: ThreadKey, head: Head) => Promise<State>;
  /** Of a thread that was removed: one made again in the same millisecond begins with the same version. */
  readonly forget: (key: ThreadKey) => void;
}

/** Reads states, remembering those whose version is unchanged. */
export function createStateReader(store: ThreadStore): StateReader {
  const cache = new LRUCache<string, State>({ maxSize: cacheBytes, sizeCalculation: (state) => sizeOf(state) + 1 });
  const nameOf = ({ owner, threadId }: ThreadKey): string => `${owner}\n${threadId}`;
  const read: StateReader['read'] = async (key, head) => {
    const name = nameOf(key);
    const known = cache.get(name);
    if (known?.version === head.version) return known;
    const state = toState(head.version, await store.getState(key, sizes.contextWithInput));
    // A write may have come between the two reads: what was read then belongs to no version that is known here.
    if ((await store.getHead(key))?.version === head.version) cache.set(name, state);
    return state;
  };
  return { read, forget: (key) => void cache.delete(nameOf(key)) };
}

/** The state right after a claim: the fence keeps it as it is until that worker commits. */
export async function claimedState(store: ThreadStore, key: ThreadKey, claimed: ClaimedRun): Promise<State> {
  const { version, isNewThread, appended } = claimed;
  // A thread made by this very run holds nothing but its input: there is nothing to read.
  if (isNewThread && claimed.epoch === 1)
    return { version, fields: {}, contextJson: jsonArray(appended.map(({ json }) => json)) };
  return toState(version, await store.getState(key, sizes.contextWithInput));
}

const toState = (version: number, { fields, context, isTruncated }: StoredState): State => ({
  version,
  fields,
  contextJson: jsonArray(context),
  ...(isTruncated ? { contextTruncated: true } : {}),
});

const sizeOf = ({ fields, contextJson }: State): number => contextJson.byteLength + sizeOfFields(fields);

/** Whether a write was refused because another came first. */
export const isOvertaken = (error: unknown): boolean =>
  isServiceError(error, 'Conflict') && error.details.some(({ type }) => type === overtakenType);

/** Refuses a direct write while a run holds the thread, and one to a thread that is absent. */
export function writableHead({ head }: Snapshot, threadId: string): Head {
  if (!head || head.deleting) throw notFound(`thread "${threadId}" does not exist`);
  if (head.activeRun !== undefined) throw conflict(`thread "${threadId}" has a run under way`);
  return head;
}

export function decideWriteState(
  request: WriteStateRequest,
  snapshot: Snapshot,
  now: number,
): Decision<{ head: Head }> {
  const head = writableHead(snapshot, request.threadId);
  if (head.version !== request.expectedVersion) throw overtaken(request.threadId);
  refuseSummary(request.fields, ['state', 'context_summary']);
  refuseMessages(request.messages, stateWrite.messages);
  const { messages, nextPosition } = placeMessages(request.messages, head.nextPosition, snapshot.entries);
  const answered = answersIn(request.messages);
  const written: Head = {
    ...withoutCalls(head, answered),
    version: head.version + 1,
    updatedAt: now,
    nextPosition,
  };
  const change = withCheckpoint({ head: written, fields: request.fields, messages }, head, snapshot, {
    ...directly,
    at: now,
  });
  refuseGrowth(knownSize(head), change.head.size, stateWrite);
  refuseOverwriting(change, stateWrite.messages);
  return { change, reply: { head: change.head } };
}

const overtakenType = 'version_conflict';

/** Another write came first: whoever reads the state again can make its own. */
export function overtaken(threadId: string): ServiceError {
  const message = `thread "${threadId}" has changed meanwhile`;
  return new ServiceError('Conflict', message, {
    details: [{ field: ['threadId'], msg: message, type: overtakenType }],
  });
}

const stateWrite: SizePlaces = { messages: ['state', 'context'], fields: ['state'] };

/** How a version comes to be that no run made. */
const directly = { source: 'update', nodes: [] } as const;

/** The snapshot holds all fields and the whole context. */
export function decideClearState(threadId: string, snapshot: Snapshot, now: number): Decision<undefined> {
  const before = writableHead(snapshot, threadId);
  const { interruptedRun: _, progress: _progress, ...head } = before;
  const cleared: Head = {
    ...head,
    version: head.version + 1,
    updatedAt: now,
    openCalls: [],
    openInterrupts: [],
    next: [],
  };
  return {
    change: withCheckpoint({ head: cleared, clearState: true }, before, snapshot, { ...directly, at: now }),
    reply: undefined,
  };
}

export function decideAddMessages(
  request: AddMessagesRequest,
  snapshot: Snapshot,
  now: number,
): Decision<AddMessagesReply> {
  const head = writableHead(snapshot, request.threadId);
  const { metadataJson: metadata } = request;
  refuseMessages(request.messages, addition.messages);
  refuseMetadata(metadata, ['metadata']);
  const { messages, nextPosition } = placeMessages(request.messages, head.nextPosition, snapshot.entries);
  const version = head.version + 1;
  const answered = answersIn(request.messages);
  const change = withCheckpoint(
    { head: { ...withoutCalls(head, answered), version, updatedAt: now, nextPosition }, messages },
    head,
    snapshot,
    { ...directly, at: now, ...(metadata === undefined ? {} : { metadata }) },
  );
  refuseGrowth(knownSize(head), change.head.size, addition);
  refuseOverwriting(change, addition.messages);
  return { change, reply: { version } };
}

const addition: SizePlaces = { messages: ['messages'], fields: ['messages'] };

/** The calls that the message makes go with it. */
export function decideDeleteMessage(
  { threadId, messageId }: { readonly threadId: string; readonly messageId: string },
  snapshot: Snapshot,
  now: number,
): Decision<undefined> {
  const head = writableHead(snapshot, threadId);
  const entry = snapshot.entries.get(messageId);
  if (!entry) throw notFound(`message "${messageId}" does not exist in thread "${threadId}"`);
  const left = withoutCalls(head, callsOf(fromJson(entry.json) as Message));
  const change = {
    head: { ...left, version: head.version + 1, updatedAt: now },
    deleted: [entry.position],
  };
  return { change: withCheckpoint(change, head, snapshot, { ...directly, at: now }), reply: undefined };
}

const answersIn = (messages: readonly MessageEntry[]): string[] =>
  messages.flatMap(({ json }) => answeredCalls(fromJson(json) as Message));

function withoutCalls(head: Head, callIds: readonly string[]): Head {
  if (head.openCalls.length === 0) return head;
  const gone = new Set(callIds);
  return { ...head, openCalls: head.openCalls.filter(({ callId }) => !gone.has(callId)) };
}
