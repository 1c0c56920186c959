import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import { isOpen } from '@agent-workflow/protos/lists';
import type { ResourceCalls, RunReadCalls } from '@agent-workflow/protos/threads';
import { readOutboxEntry } from '@agent-workflow/protos/webhooks';
import type { HandleDue, SweptResource } from '@agent-workflow/runtime/due-sweep';
import { deleteThread, type DeleteParts } from './api/delete-thread.ts';
import { fromJson } from './record/json.ts';
import { readableMs } from './record/readable.ts';

/** A run that was not accepted by then never is, in milliseconds: no request takes so long. */
const acceptedMs = 3_600_000;
/** How long a run that goes on is left alone, at most and as a share of its age. */
const mostWaitMs = 10 * 60_000;
const waitShare = 0.1;

const kind = 'completion';

interface CompletionParts extends DeleteParts {
  readonly threads: DeleteParts['threads'] & ResourceCalls & RunReadCalls;
}

/** Deletes the thread of a run that has ended, unless a person or a tool is to answer it, or a later run has the thread. */
export function createHandleCompletion(parts: CompletionParts): HandleDue {
  const { threads } = parts;

  const wait = async ({ owner, id, version, json }: SweptResource, dueAt: number, call: Call): Promise<void> => {
    await threads.putResource({ kind, owner, id, version: version + 1, json, dueAt: Math.ceil(dueAt) }, call);
  };

  return async (note, { call, now }) => {
    const { owner, id: runId, version, createdAt, json } = note;
    const { threadId } = fromJson(json) as { readonly threadId: string };
    const run = await undefinedIfNotFound(threads.getRun({ owner, runId }, call));
    const age = now() - createdAt;
    if (run ? isOpen(run.status) : age < acceptedMs)
      return wait(note, now() + Math.min(mostWaitMs, Math.max(readableMs, age * waitShare)), call);
    if (run && run.status !== 'interrupted') {
      const until = run.updatedAt + readableMs;
      if (until > now()) return wait(note, until, call);
      // What webhooks are sent of the run is read from its thread, until that is settled.
      const waiting = await undefinedIfNotFound(threads.getResource({ kind: 'outbox', owner, id: runId }, call));
      if (waiting && !readOutboxEntry(waiting.json).settled) return wait(note, now() + readableMs, call);
      const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call));
      if (thread?.runId === runId && thread.activeRunId === undefined)
        await deleteThread(parts, { owner, threadId }, call);
    }
    await threads.deleteResource({ kind, owner, id: runId, version }, call);
  };
}
