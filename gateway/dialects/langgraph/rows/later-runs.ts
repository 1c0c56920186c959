import { isServiceError, notFound, timeout, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import {
  cancelDelayed,
  isCancelled,
  laterOf,
  laterOfThread,
  refusalOf,
  slotOf,
  startOf,
} from '../../common/delayed-runs.ts';
import { agentOf } from '../../common/named-agent.ts';
import type { Services } from '../../common/services.ts';
import type { Found } from '../../common/stored-schedules.ts';
import { pause, wake } from '../live/wake.ts';
import { fromKeptRequest } from '../out/kept-request.ts';
import { isUndone, toRun } from '../out/run.ts';
import { assistantOfRun, defaultAgentOf } from './known-assistant.ts';

interface Key {
  readonly thread_id: string;
  readonly run_id: string;
}

type Requested = Pick<EndpointRequest<Key>, 'owner' | 'call' | 'params'>;
type Asked = Pick<EndpointRequest, 'owner' | 'call'>;

/** A run that starts later, could not be started, or was cancelled before. @throws NotFound for one of another thread */
export async function laterRun({ owner, call, params }: Requested, { threads }: Services): Promise<Found> {
  const found = await laterOf(threads, { owner, runId: params.run_id }, call());
  if (found && slotOf(params.run_id, found.schedule).threadId === params.thread_id) return found;
  throw notFound(`thread "${params.thread_id}" has no run "${params.run_id}"`);
}

/** A run that starts later as a reply shows it. */
export async function shownLater(request: Asked, found: Found, services: Services): Promise<ShownLater> {
  const { resource, schedule } = found;
  const { id: runId, createdAt, updatedAt } = resource;
  const started = fromKeptRequest(schedule.terms?.keptRequest);
  const known = started && (await undefinedIfNotFound(assistantOfRun(request, started.assistantId, services)));
  const ofAssistant = known && ('own' in known ? known.own : known.agent);
  const named = agentOf(schedule.run['config'] ?? {}).agent ?? ofAssistant;
  const agent = named ?? (await defaultAgentOf(services.execution, request.call));
  const { threadId } = slotOf(runId, schedule);
  return toRun({ runId, threadId, agent, status: statusOf(found), createdAt, updatedAt }, started);
}

type ShownLater = Readonly<Record<string, unknown>>;

/** The statuses that a run has which has not begun. */
export const statusOf = ({ schedule }: Found): 'pending' | 'error' | 'interrupted' => {
  if (isCancelled(schedule)) return 'interrupted';
  return refusalOf(schedule) ? 'error' : 'pending';
};

/** The runs of a thread that have not begun, the newest first. */
export const laterRuns = async (
  { owner, call }: Asked,
  threadId: string,
  services: Services,
): Promise<readonly Found[]> => laterOfThread(services, { owner, threadId }, call);

/** Ends a run when its caller disconnects: one that has not begun is cancelled. */
export function endOnDisconnect(
  { owner, params, onDisconnect }: Pick<EndpointRequest<Key>, 'owner' | 'params' | 'onDisconnect'>,
  services: Services,
): void {
  const { execution, config, log } = services;
  const runId = params.run_id;
  const call = () => within(config.CALL_TIMEOUT_MS);
  const end = async (): Promise<unknown> => {
    try {
      return await execution.stopRun({ owner, runId }, call());
    } catch (error) {
      if (!isServiceError(error, 'NotFound')) throw error;
      const cancelled = await cancelDelayed({ owner, runId, call, isKept: true }, services);
      wake({ owner, threadId: params.thread_id });
      return cancelled;
    }
  };
  onDisconnect(() => {
    end().catch((error: unknown) => {
      log.warn({ err: error, run_id: runId }, 'a run whose caller disconnected could not be stopped; it goes on');
    });
  });
}

/** How long until the record is read again, in milliseconds: long before the start a twentieth of what is left, as only a cancellation is to be seen. */
const soonest = 100;
const usual = 2000;
const latest = 60_000;

function untilRead(leftMs: number): number {
  return leftMs <= usual ? Math.max(soonest, leftMs) : Math.min(latest, Math.max(usual, leftMs / 20));
}

/** The run when it has begun; what became of it instead where it never does. @throws Timeout, and NotFound where there is none */
export async function whenBegun(
  request: Requested,
  { ms, services }: { readonly ms: number; readonly services: Services },
): Promise<Run | Found> {
  const { owner, params, call } = request;
  const { run_id: runId, thread_id: threadId } = params;
  const { signal, deadline } = call(ms);
  for (;;) {
    const run = await undefinedIfNotFound(services.threads.getRun({ owner, runId }, call()));
    if (run) return ofThread(run, threadId);
    const found = await undefinedIfNotFound(laterRun(request, services));
    // It may have begun between the two.
    if (!found) return ofThread(await services.threads.getRun({ owner, runId }, call()), threadId);
    if (statusOf(found) !== 'pending') return found;
    if (signal.aborted || Date.now() >= deadline) throw timeout(`run "${runId}" did not begin within ${String(ms)} ms`);
    const pauseMs = untilRead(startOf(found.schedule) - Date.now());
    await pause({ owner, threadId }, Math.min(pauseMs, deadline - Date.now()), signal);
  }
}

function ofThread(run: Run, threadId: string): Run {
  if (run.threadId === threadId && !isUndone(run)) return run;
  throw notFound(`thread "${threadId}" has no run "${run.runId}"`);
}
