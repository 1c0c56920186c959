import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { RunError, Thread, ThreadCheckpoint } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { Services } from '../../common/services.ts';

interface Newest {
  readonly thread: Thread;
  /** The newest first; that in which a run failed has a checkpoint of its own. */
  readonly checkpoints: readonly ThreadCheckpoint[];
}

/** The step in which the newest run of a thread failed: its nodes come next, as nothing of it is kept. */
interface FailedStep {
  readonly next: readonly string[];
  readonly failure: RunError;
}

/** `undefined` where the newest run of the thread has not failed. */
export async function failedStep(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  { thread, checkpoints }: Newest,
  { threads }: Pick<Services, 'threads'>,
): Promise<FailedStep | undefined> {
  const [newest, before] = checkpoints;
  const { runId } = thread;
  if (thread.status !== 'failed' || runId === undefined || newest?.runId !== runId) return undefined;
  const failure = (await undefinedIfNotFound(threads.getRun({ owner, runId }, call())))?.end?.error;
  if (!failure) return undefined;
  if (newest.next.length > 0) return { next: newest.next, failure };
  const { node } = failure;
  const own = before?.runId === runId ? before.next : [];
  return { next: own.length > 0 || node === undefined ? own : [node], failure };
}
