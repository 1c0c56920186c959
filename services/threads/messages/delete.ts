import { notFound } from '@agent-workflow/kit/errors';
import { callsOf, type Message } from '@agent-workflow/protos/message';
import { withCheckpoint } from '../history/undo.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';
import { fromJson } from '../record/json.ts';
import { directWrite, withoutCalls, writableHead } from '../state/writable.ts';

/** Removes a message from log and context. The open calls that it makes are removed from the head. */
export function decideDeleteMessage(
  { threadId, messageId }: { readonly threadId: string; readonly messageId: string },
  snapshot: Snapshot,
  now: number,
): Decision<undefined> {
  const head = writableHead(snapshot, threadId);
  const entry = snapshot.entries.get(messageId);
  if (!entry) throw notFound(`message "${messageId}" does not exist in thread "${threadId}"`);
  const left = withoutCalls(head, callsIn(entry.json));
  const change = {
    head: { ...left, version: head.version + 1, updatedAt: now },
    deleted: [entry.position],
  };
  return { change: withCheckpoint(change, head, snapshot, { ...directWrite, at: now }), reply: undefined };
}

/** The ids of the calls that a message makes. One that cannot be read makes none that is known, and is removed as well. */
function callsIn(json: Uint8Array): readonly string[] {
  try {
    return callsOf(fromJson(json) as Message);
  } catch {
    return [];
  }
}
