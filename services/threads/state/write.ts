import type { WriteStateRequest } from '@agent-workflow/protos/threads';
import { refuseLargeChange, withCheckpoint } from '../history/undo.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';
import type { Head } from '../ports/record.ts';
import { refuseManyFields, refuseMessages, refuseSummary } from '../record/bounds.ts';
import { placeMessages, withKnownData } from '../record/place.ts';
import { refuseGrowth, type SizePlaces } from '../record/size.ts';
import { answersIn, directWrite, settledHead, versionConflict, withoutCalls, writableHead } from './writable.ts';

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
  refuseManyFields(request.fields, inStateWrite.fields);
  refuseSummary(request.fields, ['state', 'context_summary']);
  refuseMessages(request.messages, inStateWrite.messages);
  const given = withKnownData(request.messages, snapshot.entries);
  const { messages, nextPosition } = placeMessages(given, head.nextPosition, snapshot.entries);
  const written: Head = {
    ...withoutCalls(head, answersIn(request.messages)),
    version: head.version + 1,
    updatedAt: now,
    nextPosition,
  };
  const change = withCheckpoint({ head: written, fields: request.fields, messages }, head, snapshot, {
    ...directWrite,
    at: now,
  });
  refuseGrowth(head.size, change.head.size, inStateWrite);
  refuseLargeChange(change, request, inStateWrite.messages);
  return { change, reply: { head: change.head } };
}

/** Clears fields and context. The snapshot holds all fields and the whole context. */
export function decideClearState(threadId: string, snapshot: Snapshot, now: number): Decision<undefined> {
  const before = writableHead(snapshot, threadId);
  const cleared = { head: settledHead(before, now), clearState: true } as const;
  return {
    change: withCheckpoint(cleared, before, snapshot, { ...directWrite, at: now }),
    reply: undefined,
  };
}
