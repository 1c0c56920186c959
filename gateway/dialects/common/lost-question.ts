import { questionsIn } from '@agent-workflow/protos/task-status';
import type { Run, Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../http/endpoint.ts';
import { refusedQuestion } from './questions.ts';
import type { Services } from './services.ts';

/** Whether a run has asked what its thread does not wait with any more: the question was dropped, or another run took its place. */
export function hasLostQuestion(
  { status, runId, end }: Pick<Run, 'status' | 'runId' | 'end'>,
  thread: Pick<Thread, 'waitsFor' | 'runId'>,
): boolean {
  if (status !== 'interrupted') return false;
  const waitsFor = questionsIn(end?.interruptsJson).length > 0 ? 'answer' : 'tool_results';
  return thread.waitsFor !== waitsFor || thread.runId !== runId;
}

/** A run as it stands by its thread: one whose question is lost counts as stopped. */
export function withoutLostQuestion(run: Run, thread: Pick<Thread, 'waitsFor' | 'runId' | 'updatedAt'>): Run {
  if (!hasLostQuestion(run, thread)) return run;
  const { end: _, ...rest } = run;
  return { ...rest, status: 'stopped', updatedAt: thread.updatedAt };
}

/**
 * Drops the question that a thread waits with, so that no client answers it any more. One of others ends with its run, which is its owner's to stop.
 * @throws Conflict where the thread has changed since it was read
 */
export async function dropQuestion(
  { owner, threadId, version, runId }: Pick<Thread, 'threadId' | 'version' | 'runId'> & { readonly owner: string },
  { call, idempotency }: Pick<EndpointRequest, 'call' | 'idempotency'>,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<void> {
  const nothing = { fields: {}, messages: [], settles: true };
  try {
    await threads.writeState({ owner, threadId, expectedVersion: version, ...nothing, ...idempotency }, call());
  } catch (error) {
    if (runId === undefined || refusedQuestion(error) === undefined) throw error;
    await execution.stopRun({ owner, runId, ...idempotency }, call());
  }
}
