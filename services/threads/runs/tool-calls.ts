import type {
  NoteToolResultReply,
  NoteToolResultRequest,
  NoteToolStartedReply,
  NoteToolStartedRequest,
} from '@agent-workflow/protos/threads';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import type { Decision, Snapshot } from '../ports/changes.ts';
import { fencedHead } from './commit.ts';

/** Records that a call is about to be made, unless an earlier attempt has begun it. */
export function decideToolStarted(request: NoteToolStartedRequest, snapshot: Snapshot): Decision<NoteToolStartedReply> {
  const head = fencedHead(request, snapshot);
  const { toolCall: known } = snapshot;
  if (known) return { reply: { isNew: false, ...(known.result === undefined ? {} : { resultJson: known.result }) } };
  const { runId, callKey } = request;
  return { change: { head, toolCall: { runId, callKey } }, reply: { isNew: true } };
}

/** Records the result of a call. It outlives the worker like a commit, so the claims without one are counted anew. */
export function decideToolResult(request: NoteToolResultRequest, snapshot: Snapshot): Decision<NoteToolResultReply> {
  const head = fencedHead(request, snapshot);
  const { runId, callKey, resultJson: result, keepSeconds } = request;
  refuseOver(result.byteLength, sizes.toolRecord, ['resultJson']);
  const toolCall = { runId, callKey, result, ...(keepSeconds === undefined ? {} : { keepSeconds }) };
  return { change: { head: { ...head, claims: 0 }, toolCall }, reply: {} };
}
