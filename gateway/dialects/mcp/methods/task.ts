import { isServiceError } from '@agent-workflow/kit/errors';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Run, Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { runChain } from '../../common/run-chain.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { isCancelled } from '../calls/cancel-run.ts';
import { keptCall, type KeptCall } from '../calls/kept-call.ts';
import { toOutcome } from '../calls/outcome.ts';
import { shownRequests, toInputRequests, type InputRequest, type Question } from '../calls/questions.ts';
import { runEndOf } from '../calls/run-end.ts';
import type { Fields } from '../wire/fields.ts';
import { invalidParams } from '../wire/rpc-error.ts';

interface Key extends Pick<EndpointRequest, 'owner' | 'call'> {
  /** The first run of the chain. */
  readonly taskId: string;
}

/** A task as it stands: a chain of runs, each of which answers what the one before it has asked. */
export interface KnownTask {
  readonly task: Fields;
  readonly first: Run;
  /** It stands for all of them now. */
  readonly last: Run;
  /** What it asks now. */
  readonly requests: ReadonlyMap<Question, InputRequest>;
  readonly call: KeptCall;
}

/** How often a client may look again, in milliseconds. */
const pollIntervalMs = 500;

/** @throws RpcError for what is no task of the caller */
export async function toTask({ owner, taskId, call }: Key, services: Services): Promise<KnownTask> {
  const { threads } = services;
  const chain: Run[] = [];
  try {
    for await (const run of runChain({ owner, runId: taskId, call }, threads)) chain.push(run);
  } catch (error) {
    throw isServiceError(error, 'NotFound') || isServiceError(error, 'Invalid')
      ? invalidParams('there is no such task')
      : error;
  }
  const [first, last] = [chain[0], chain.at(-1)];
  if (!first || !last) throw invalidParams('there is no such task');
  const [kept, thread] = await Promise.all([
    keptCall(last, threads, call()),
    threads.getThread({ owner, threadId: last.threadId }, call()),
  ]);
  const requests = openRequests(last, thread);
  const task = {
    taskId,
    createdAt: new Date(first.createdAt).toISOString(),
    lastUpdatedAt: new Date(last.updatedAt).toISOString(),
    ttlMs: thread.ttlSeconds === undefined ? null : thread.ttlSeconds * 1000,
    pollIntervalMs,
    status: statusOf(last, requests, thread),
  };
  return { task, first, last, requests, call: kept };
}

function openRequests({ runId, end }: Run, thread: Thread): ReadonlyMap<Question, InputRequest> {
  const json = end?.interruptsJson;
  if (json === undefined || thread.runId !== runId || isCancelled(runId, thread)) return new Map();
  return toInputRequests(JSON.parse(json) as readonly Question[]);
}

function statusOf({ runId, status }: Run, { size }: ReadonlyMap<Question, InputRequest>, thread: Thread): string {
  if (isOpen(status)) return 'working';
  if (status === 'stopped' || isCancelled(runId, thread)) return 'cancelled';
  return size > 0 ? 'input_required' : 'completed';
}

/** A task with what came of it, or what it asks. */
export async function detailedTask(
  { task, last, requests, call: kept }: KnownTask,
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  services: Services,
): Promise<Fields> {
  if (task['status'] === 'input_required') return { ...task, inputRequests: shownRequests(requests) };
  if (task['status'] !== 'completed') return task;
  const { runId, threadId } = last;
  const end = runEndOf(await endOfRun({ owner, call, runId, threadId }, services));
  // It asks what another run has taken over: the thread went on without an answer.
  if (end.kind === 'asks') return { ...task, status: 'cancelled' };
  const outcome = toOutcome(end, { asked: kept.asked, runId, threadId });
  return 'error' in outcome
    ? { ...task, status: 'failed', ...outcome }
    : { ...task, result: { resultType: 'complete', ...outcome.result } };
}
