import { conflict, isServiceError, notFound, ServiceError } from '@agent-workflow/kit/errors';
import { answeredCalls, type Message } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { Snapshot } from '../ports/changes.ts';
import type { Head } from '../ports/record.ts';
import { fromJson } from '../record/json.ts';

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
  const { interruptedRun: _, progress: _progress, ...head } = before;
  return { ...head, version: head.version + 1, updatedAt: now, openCalls: [], openInterrupts: [], next: [] };
}

/** The head without these open calls. */
export function withoutCalls(head: Head, callIds: readonly string[]): Head {
  if (head.openCalls.length === 0) return head;
  const gone = new Set(callIds);
  return { ...head, openCalls: head.openCalls.filter(({ callId }) => !gone.has(callId)) };
}
