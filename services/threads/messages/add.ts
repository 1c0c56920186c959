import type { AddMessagesReply, AddMessagesRequest } from '@agent-workflow/protos/threads';
import { refuseLargeChange, withCheckpoint } from '../history/undo.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';
import { refuseMessages, refuseMetadata } from '../record/bounds.ts';
import { placeMessages, withKnownData } from '../record/place.ts';
import { refuseGrowth, type SizePlaces } from '../record/size.ts';
import { answersIn, directWrite, withoutCalls, writableHead } from '../state/writable.ts';

/** Where the messages are in the request. */
const inRequest: SizePlaces = { messages: ['messages'], fields: ['messages'] };

/** Appends messages to log and context; one whose id is in the log replaces it in place. */
export function decideAddMessages(
  request: AddMessagesRequest,
  snapshot: Snapshot,
  now: number,
): Decision<AddMessagesReply> {
  const head = writableHead(snapshot, request.threadId);
  const { metadataJson: metadata } = request;
  refuseMessages(request.messages, inRequest.messages);
  refuseMetadata(metadata, ['metadata']);
  const given = withKnownData(request.messages, snapshot.entries);
  const { messages, nextPosition } = placeMessages(given, head.nextPosition, snapshot.entries);
  const version = head.version + 1;
  const written = { ...withoutCalls(head, answersIn(request.messages)), version, updatedAt: now, nextPosition };
  const change = withCheckpoint({ head: written, messages }, head, snapshot, {
    ...directWrite,
    at: now,
    ...(metadata === undefined ? {} : { metadata }),
  });
  refuseGrowth(head.size, change.head.size, inRequest);
  refuseLargeChange(change, request, inRequest.messages);
  return { change, reply: { version } };
}
