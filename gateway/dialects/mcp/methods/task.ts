import { isServiceError } from '@agent-workflow/kit/errors';
import { isOpen } from '@agent-workflow/protos/lists';
import { waitsForText } from '@agent-workflow/protos/addressed';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { answersHere } from '../../common/questions.ts';
import { withoutLostQuestion } from '../../common/lost-question.ts';
import { runChain } from '../../common/run-chain.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { keptCall, type KeptCall } from '../calls/kept-call.ts';
import { toOutcome } from '../calls/outcome.ts';
import { questionsIn, shownRequests, toInputRequests, type InputRequest, type Question } from '../calls/questions.ts';
import { runEndOf } from '../calls/run-end.ts';
import type { Fields } from '../wire/fields.ts';
import { invalidParams } from '../wire/rpc-error.ts';

interface Key extends Pick<EndpointRequest, 'owner' | 'roles' | 'call'> {
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
  /** Those that the caller may answer. */
  readonly ownRequests: ReadonlyMap<Question, InputRequest>;
  readonly call: KeptCall;
}

/** How often a client may look again, in milliseconds. */
const pollIntervalMs = 500;

/** @throws RpcError for what is no task of the caller */
export async function toTask({ owner, roles, taskId, call }: Key, services: Services): Promise<KnownTask> {
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
  // Who waits for remote tools has its result: its task does not change any more.
  const stood = questionsIn(last.end?.interruptsJson).length > 0 ? withoutLostQuestion(last, thread) : last;
  const requests = openRequests(stood, chain);
  const { agent } = last;
  const isOwn = (one: Question): boolean => answersHere(services.access, { owner, roles }, { ...one, agent });
  const ownRequests = new Map([...requests].filter(([one]) => isOwn(one)));
  const others = [...new Set([...requests.keys()].flatMap((one) => (isOwn(one) ? [] : (one.to ?? []))))];
  const task = {
    taskId,
    createdAt: new Date(first.createdAt).toISOString(),
    lastUpdatedAt: new Date(stood.updatedAt).toISOString(),
    ttlMs: thread.ttlSeconds === undefined ? null : thread.ttlSeconds * 1000,
    pollIntervalMs,
    status: requests.size > 0 && ownRequests.size === 0 ? 'working' : statusOf(stood, requests),
    ...(others.length > 0 && { statusMessage: waitsForText(others) }),
  };
  return { task, first, last: stood, requests, ownRequests, call: kept };
}

/** What the last run asks. The names of the questions before stay theirs. */
function openRequests({ end }: Run, chain: readonly Run[]): ReadonlyMap<Question, InputRequest> {
  const earlier = new Map<string, string>();
  for (const run of chain.slice(0, -1))
    for (const [{ id }, { key }] of toInputRequests(questionsIn(run.end?.interruptsJson), earlier))
      earlier.set(key, id);
  return toInputRequests(questionsIn(end?.interruptsJson), earlier);
}

function statusOf({ status }: Run, { size }: ReadonlyMap<Question, InputRequest>): string {
  if (isOpen(status)) return 'working';
  if (status === 'stopped') return 'cancelled';
  return size > 0 ? 'input_required' : 'completed';
}

/** A task with what came of it, or what it asks. */
export async function detailedTask(
  { task, last, ownRequests, call: kept }: KnownTask,
  { owner, call, origin }: Pick<EndpointRequest, 'owner' | 'call' | 'origin'>,
  services: Services,
): Promise<Fields> {
  if (task['status'] === 'input_required') return { ...task, inputRequests: shownRequests(ownRequests) };
  if (task['status'] !== 'completed') return task;
  const { runId, threadId } = last;
  const end = runEndOf(await endOfRun({ owner, call, runId, threadId }, services));
  if (end.kind === 'asks') return { ...task, status: 'cancelled' };
  const outcome = toOutcome(end, {
    ...{ asked: kept.asked, runId, threadId },
    addressOf: addressesOf({ owner, origin }, services),
  });
  return 'error' in outcome
    ? { ...task, status: 'failed', ...outcome }
    : { ...task, result: { resultType: 'complete', ...outcome.result } };
}
