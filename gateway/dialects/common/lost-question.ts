import { questionsIn } from '@agent-workflow/protos/task-status';
import type { Run, Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../http/endpoint.ts';
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

/** Drops the question that a thread waits with, so that no client answers it any more. @throws Conflict where the thread has changed since it was read */
export async function dropQuestion(
  { owner, threadId, version }: Pick<Thread, 'threadId' | 'version'> & { readonly owner: string },
  { call, idempotency }: Pick<EndpointRequest, 'call' | 'idempotency'>,
  { threads }: Pick<Services, 'threads'>,
): Promise<void> {
  const nothing = { fields: {}, messages: [], settles: true };
  await threads.writeState({ owner, threadId, expectedVersion: version, ...nothing, ...idempotency }, call());
}
