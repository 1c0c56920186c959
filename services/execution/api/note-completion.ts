import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';

/** For how long the result of a run can be read whose thread goes with its end, in milliseconds. */
export const readableMs = 60_000;

interface Ending {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
}

/** Notes that the thread of a run goes with its end. Before the run is accepted: a run on record is then never without its note. */
export async function noteCompletion(
  threads: Pick<ResourceCalls, 'putResource'>,
  { owner, threadId, runId }: Ending,
  call: Call,
): Promise<void> {
  const json = Buffer.from(JSON.stringify({ threadId }));
  const note = { kind: 'completion', owner, id: runId, version: 1, json, dueAt: Date.now() + readableMs } as const;
  try {
    await threads.putResource(note, call);
  } catch (error) {
    // An earlier attempt at the same request has noted it.
    if (!isServiceError(error, 'Conflict')) throw error;
  }
}
