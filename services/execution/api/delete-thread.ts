import { defaultAgent } from '@agent-workflow/kit/agents';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { DeleteThreadRequest } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { DeletionCalls, StoppedRun, ThreadKey, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { RunControl } from '../ports/control.ts';
import { publishEnd, type EndParts } from '../events/publish-end.ts';
import type { Worker } from '../worker/worker.ts';

export interface DeleteParts extends EndParts {
  readonly threads: EndParts['threads'] & ThreadReadCalls & DeletionCalls;
  readonly memory: Memory;
  readonly control: RunControl;
  readonly worker: Worker | undefined;
}

/**
 * Deletes a thread: marks it, which hides it from every reader and ends its runs, then forgets its memories, then removes its
 * rows. After a failure of any step a repeated call does all steps again.
 */
export async function deleteThread(parts: DeleteParts, request: DeleteThreadRequest, call: Call): Promise<void> {
  const { threads, memory, worker } = parts;
  const { owner, threadId } = request;
  const { stoppedRunIds, stoppedRuns, agent } = await threads.beginDelete(request, call);
  const mayBeRepeated = request.attemptId !== undefined || request.onceKey !== undefined;
  // A thread exists under this id again: then an earlier call of the same request has deleted the one that was meant.
  if (mayBeRepeated && (await undefinedIfNotFound(threads.getThread({ owner, threadId }, call)))) return;
  worker?.forget(owner, threadId);
  const known = new Map(stoppedRuns.map((run) => [run.runId, run]));
  for (const runId of stoppedRunIds)
    await publishStop(parts, { owner, threadId, agent: agent ?? defaultAgent }, known.get(runId) ?? unknownRun(runId));
  await memory.forget({ owner, selection: { threadId }, all: false }, call);
  await threads.finishDelete({ owner, threadId }, call);
}

const unknownRun = (runId: string): StoppedRun => ({ runId, requestId: '', isNewThread: false });

/** Stops a run of the deleted thread, also at the workers that receive only the stops of their agents, and publishes that to its followers. */
async function publishStop(
  parts: DeleteParts,
  key: ThreadKey & { readonly agent: string },
  run: StoppedRun,
): Promise<void> {
  parts.control.stop(run.runId);
  parts.control.stop(run.runId, key.agent);
  const now = Date.now();
  const ended = { status: 'stopped', iterations: run.iterations ?? 0, recursionLimitReached: false } as const;
  await publishEnd(parts, {
    ...key,
    ...run,
    status: 'stopped',
    granularity: 'low',
    createdAt: now,
    updatedAt: now,
    end: ended,
    runnable: false,
    nodes: [],
  });
}
