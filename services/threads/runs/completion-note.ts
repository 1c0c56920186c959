import { idFrom } from '@agent-workflow/kit/ids';
import type { AcceptRunRequest } from '@agent-workflow/protos/threads';
import type { Decision } from '../ports/changes.ts';
import { toJson } from '../record/json.ts';

/** The decision with a note, in the same change, that the thread goes with the end of the run. A sweep looks at the run when the note is due. */
export function withCompletionNote<T>(
  decision: Decision<T>,
  { owner, threadId, runId, deletesThreadAfterMs: ms }: AcceptRunRequest,
  now: number,
): Decision<T> {
  const { change } = decision;
  if (!change || ms === undefined) return decision;
  const note = {
    ...({ kind: 'completion', owner, id: runId, version: 1, at: now, dueAt: now + ms } as const),
    attempt: idFrom(runId, 'completion'),
    json: toJson({ threadId }),
  };
  return { ...decision, change: { ...change, resources: [...(change.resources ?? []), note] } };
}
