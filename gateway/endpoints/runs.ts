import { badRequest, invalid, isServiceError } from '@agent-workflow/kit/errors';
import { idText } from '@agent-workflow/protos/message';
import type { Run, Threads } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import { jsonBytes, jsonText, type JsonParts } from '../http/json.ts';
import type { RunInput } from '../schemas/graph.ts';
import type { RunParams, RunsQuery, StopInput, StreamQuery } from '../schemas/runs.ts';
import type { ThreadParams } from '../schemas/threads.ts';
import type { Ask, RunStream } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { streamMs } from './graph.stream.ts';
import { toStartRequest } from './run-request.ts';
import { resultOfRun } from './run-result.ts';
import { pageOf } from './threads.ts';

type Params = Static<typeof RunParams>;

/** Accepts a run and says so at once: it is on record, and goes on without its caller. */
export async function createRun(ask: Ask<unknown, RunInput>, services: Services): Promise<string> {
  const request = await toStartRequest(ask, 'low', services);
  const { runId, threadId, status } = await services.execution.start(request, ask.call());
  return JSON.stringify({ run_id: runId, thread_id: threadId, status });
}

export async function getRun({ owner, params, call }: Ask<Params>, { threads }: Services): Promise<string> {
  return JSON.stringify(toRun(await threads.getRun({ owner, runId: params.run_id }, call())));
}

/** The result that invoke would have given, as soon as the run has ended. */
export async function waitForRun(
  { owner, params, call }: Ask<Params>,
  services: Services,
): Promise<string | JsonParts> {
  const runId = params.run_id;
  const { threadId } = await services.threads.getRun({ owner, runId }, call());
  return resultOfRun({ owner, runId, threadId, call }, services);
}

/** Every event after the last one that the reader has seen. */
export async function streamRun(
  ask: Ask<Params, Static<typeof StreamQuery>>,
  { threads }: Services,
): Promise<RunStream> {
  const { owner, params, input, call } = ask;
  const runId = params.run_id;
  await threads.getRun({ owner, runId }, call());
  const after = ask.lastEventId === undefined ? (input.after ?? 0) : seqOf(ask.lastEventId, runId);
  return { follow: { owner, runId, after }, call: call(streamMs) };
}

/** The number that `{run_id}:{seq}` ends with. */
function seqOf(lastEventId: string, runId: string): number {
  const colon = lastEventId.lastIndexOf(':');
  const seq = Number(lastEventId.slice(colon + 1));
  if (lastEventId.slice(0, Math.max(colon, 0)) !== runId)
    throw badRequest(`Last-Event-ID is not an event of run "${runId}"`);
  if (!/^\d{1,15}$/.test(lastEventId.slice(colon + 1))) {
    throw invalid(['header', 'Last-Event-ID'], 'must end with the number of an event', 'int_parsing');
  }
  return seq;
}

/** Ends a run; one that has ended says how. */
export async function cancelRun({ owner, params, call, once }: Ask<Params>, { execution }: Services): Promise<string> {
  const runId = params.run_id;
  const { status, stoppedNow } = await execution.stopRun({ owner, runId, ...once }, call());
  return JSON.stringify({ success: stoppedNow, run_id: runId, status, message: messageOf(stoppedNow, status) });
}

/** Ends the run that holds a thread, if one does. */
export async function stopThread(
  ask: Ask<unknown, Static<typeof StopInput>>,
  { execution, threads }: Services,
): Promise<string> {
  const { owner, input, call, once } = ask;
  const threadId = threadOf(input);
  const runId = await runToStop(ask, threads);
  if (runId === undefined) return idleText(threadId);
  try {
    const { status, stoppedNow } = await execution.stopRun({ owner, runId, ...once }, call());
    const message = messageOf(stoppedNow, status);
    return JSON.stringify({ success: stoppedNow, thread_id: threadId, run_id: runId, status, message });
  } catch (error) {
    // Its thread was deleted meanwhile, which ended it.
    if (isServiceError(error, 'NotFound')) return idleText(threadId);
    throw error;
  }
}

/** The run that holds the thread; of a request that is done once, the one that held it when that was sent first. */
async function runToStop(ask: Ask<unknown, Static<typeof StopInput>>, threads: Threads): Promise<string | undefined> {
  const { owner, input, call, once, newId } = ask;
  const { activeRunId } = await threads.getThread({ owner, threadId: threadOf(input) }, call());
  if (once.onceKey === undefined) return activeRunId;
  const note = { owner, onceKey: newId('run to stop'), bodyHash: '', replyJson: jsonBytes({ runId: activeRunId }) };
  const { isNew, replyJson } = await threads.beginOnce(note, call());
  if (isNew || !replyJson) return activeRunId;
  return (JSON.parse(jsonText(replyJson)) as { runId?: string }).runId;
}

/** The thread that a body names, in one place or the other. */
export function threadOf(input: Static<typeof StopInput>): string {
  const named = input.thread_id ?? input.config?.thread_id;
  if (named === undefined) throw invalid(['body', 'thread_id'], 'Field required', 'missing');
  return idText(named);
}

const idleText = (threadId: string): string =>
  JSON.stringify({ success: false, thread_id: threadId, run_id: null, status: 'idle', message: 'nothing is running' });

const messageOf = (stoppedNow: boolean, status: string): string =>
  stoppedNow ? 'the run was stopped' : `the run had ended before: ${status}`;

/** The runs of a thread, newest first. */
export async function listRuns(
  { owner, params, input, call }: Ask<Static<typeof ThreadParams>, Static<typeof RunsQuery>>,
  { threads }: Services,
): Promise<string> {
  const { runs, cursor } = await threads.listRuns({ owner, threadId: params.thread_id, ...pageOf(input) }, call());
  return JSON.stringify({ runs: runs.map(toRun), has_more: cursor !== undefined, cursor });
}

const toRun = (run: Run): Record<string, unknown> => ({
  run_id: run.runId,
  thread_id: run.threadId,
  status: run.status,
  created_at: new Date(run.createdAt).toISOString(),
  updated_at: new Date(run.updatedAt).toISOString(),
  resumes: run.resumes,
  ...(run.end && {
    iterations: run.end.iterations,
    recursion_limit_reached: run.end.recursionLimitReached,
    error: run.end.error,
  }),
});
