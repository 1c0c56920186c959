import { conflict, isServiceError, notFound, ServiceError } from '@agent-workflow/kit/errors';
import { answeredCalls, type Message } from '@agent-workflow/protos/message';
import type { MessageEntry, WriteStateRequest } from '@agent-workflow/protos/threads';
import type { Snapshot, Decision } from '../ports/changes.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import { fromJson } from '../record/json.ts';
import { refuseLargeChange, withCheckpoint } from '../history/undo.ts';
import { refuseDropping, refuseRewriting } from '../record/addressed.ts';
import { refuseManyFields, refuseMessages, refuseSummary } from '../record/bounds.ts';
import { leaving, placeMessages, withKnownData } from '../record/place.ts';
import { refuseGrowth, type SizePlaces } from '../record/size.ts';

// What the decisions about direct writes share: writes of fields, context and messages that no run makes.

/** @throws NotFound when the thread is absent, Conflict while a run holds it. */
export function writableHead({ head }: Snapshot, threadId: string): Head {
  if (!head || head.deleting) throw notFound(`thread "${threadId}" does not exist`);
  if (head.activeRun !== undefined) throw conflict(`thread "${threadId}" has a run under way`);
  return head;
}

/** The source of a direct write's checkpoint: no run, no node. */
export const directWrite = { source: 'update', nodes: [] } as const;

const versionConflictType = 'version_conflict';

/** Another write came first. A caller that reads the thread again can decide again. */
export function versionConflict(threadId: string): ServiceError {
  const message = `thread "${threadId}" has changed meanwhile`;
  return new ServiceError('Conflict', message, {
    details: [{ field: ['threadId'], msg: message, type: versionConflictType }],
  });
}

export const isVersionConflict = (error: unknown): boolean =>
  isServiceError(error, 'Conflict') && error.details.some(({ type }) => type === versionConflictType);

/** The ids of the calls that these messages answer. */
export const answersIn = (messages: readonly MessageEntry[]): string[] =>
  messages.flatMap(({ json }) => answeredCalls(fromJson(json) as Message));

/** The head after a direct write after which the thread waits for no answer any more: its next run begins anew. */
export function settledHead(before: Head, now: number): Head {
  const { interruptedRun: _, progress: _progress, addressed: _questions, ...head } = before;
  return { ...head, version: head.version + 1, updatedAt: now, openCalls: [], openInterrupts: [], next: [] };
}

/** The head without these open calls. */
export function withoutCalls(head: Head, callIds: readonly string[]): Head {
  if (head.openCalls.length === 0) return head;
  const gone = new Set(callIds);
  return { ...head, openCalls: head.openCalls.filter(({ callId }) => !gone.has(callId)) };
}

/** Where a state write's messages and fields are in its request. */
const inStateWrite: SizePlaces = { messages: ['state', 'context'], fields: ['state'] };

export function decideWriteState(
  request: WriteStateRequest,
  snapshot: Snapshot,
  now: number,
): Decision<{ head: Head }> {
  const head = writableHead(snapshot, request.threadId);
  if (head.version !== request.expectedVersion) throw versionConflict(request.threadId);
  if (request.skipsNothing && Object.keys(request.fields).length === 0 && request.messages.length === 0)
    return { reply: { head } };
  if (request.settles) refuseDropping(request, head);
  if (request.messages.length > 0 || (request.removedFromContext ?? []).length > 0) refuseRewriting(request, head);
  refuseManyFields(request.fields, inStateWrite.fields);
  refuseSummary(request.fields, ['state', 'context_summary']);
  refuseMessages(request.messages, inStateWrite.messages);
  const given = withKnownData(request.messages, snapshot.entries);
  const { messages, nextPosition } = placeMessages(given, head.nextPosition, snapshot.entries);
  const removedFromContext = leaving(request.removedFromContext ?? [], messages, snapshot.entries);
  const { interruptedRun: _, progress: _progress, addressed: _questions, ...settled } = head;
  const after: Head = {
    ...withoutCalls(request.settles ? { ...settled, next: [], openInterrupts: [] } : head, answersIn(request.messages)),
    version: head.version + 1,
    updatedAt: now,
    nextPosition,
  };
  const written = { head: after, fields: request.fields, messages, removedFromContext };
  const change = withCheckpoint(written, head, snapshot, { ...directWrite, at: now });
  refuseGrowth(head.size, change.head.size, inStateWrite);
  refuseLargeChange(change, request, inStateWrite.messages);
  return { change, reply: { head: change.head } };
}

/** Clears fields and context. The snapshot holds all fields and the whole context. */
export function decideClearState(key: ThreadKey, snapshot: Snapshot, now: number): Decision<undefined> {
  const before = writableHead(snapshot, key.threadId);
  refuseDropping(key, before);
  const cleared = { head: settledHead(before, now), clearState: true } as const;
  return {
    change: withCheckpoint(cleared, before, snapshot, { ...directWrite, at: now }),
    reply: undefined,
  };
}
