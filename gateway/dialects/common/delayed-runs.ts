import { conflict, isServiceError, notFound, unavailable, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { StopRunReply } from '@agent-workflow/protos/execution';
import { readTime } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../http/endpoint.ts';
import { pendingSlot, threadOf, withNext, type PastSlot, type Schedule } from '../../schedules/schedule.ts';
import type { Services } from './services.ts';
import type { LaterRunOrder } from './run-order.ts';
import { checkRun, claimsOf, createStored, find, recordNow, type Found } from './stored-schedules.ts';

/** The run of a request that names a time which is to come: on record only then. `undefined`: it starts at once. */
export async function delayedRun(
  request: Delaying,
  services: Pick<Services, 'threads' | 'execution'>,
): Promise<DelayedRun | undefined> {
  const { start_at: given, ...body } = request.input;
  const at = readTime(given, ['body', 'start_at']);
  if (at === undefined) return undefined;
  const { threads } = services;
  const now = await recordNow(threads, request.call());
  const id = request.newId('run');
  if (at <= now) return undefined;
  const run = await checkRun(body, ['body'], services, request.call());
  const schedule: Schedule = {
    spec: {
      timing: { at },
      ...{ jitterMs: 0, overlap: 'allow', catchUp: 'all', catchUpMs: 3_600_000, keepThreads: true },
      thread: threadOf(run) === undefined ? 'new' : 'one',
    },
    ...{ run, ...claimsOf(request), delayed: true, paused: false, pending: [], past: [], unkept: [] },
  };
  await createStored({ ...request, isRepeated: false }, services, id, withNext(schedule, at - 1), ['body']);
  const { threadId } = slotOf(id, schedule);
  return { runId: id, threadId, at };
}

interface DelayedRun {
  readonly runId: string;
  readonly threadId: string;
  /** When it starts, in milliseconds since 1970. */
  readonly at: number;
}

type Delaying = Pick<EndpointRequest<unknown, LaterRunOrder>, 'input' | 'owner' | 'user' | 'newId' | 'call'>;

export const startOf = ({ spec: { timing } }: Schedule): number => ('at' in timing ? timing.at : 0);

/** Why the run could not be started. */
export const refusalOf = ({ past }: Schedule): PastSlot | undefined =>
  past.find(({ outcome }) => outcome === 'refused');

export const slotOf = (id: string, schedule: Schedule) =>
  pendingSlot(id, schedule, { slot: startOf(schedule), cause: 'slot' });

export const findDelayed = async (
  threads: Services['threads'],
  { owner, runId }: RunKey,
  call: Call,
): Promise<Found | undefined> => {
  const found = await undefinedIfNotFound(find(threads, owner, runId, call));
  return found?.schedule.delayed ? found : undefined;
};

export interface RunKey {
  readonly owner: string;
  readonly runId: string;
}

/** A run on record. @throws Conflict for one that starts later, or that could not be started. */
export async function runOnRecord(threads: Services['threads'], key: RunKey, call: Call): Promise<Run> {
  try {
    return await threads.getRun(key, call);
  } catch (error) {
    if (!isServiceError(error, 'NotFound')) throw error;
    const found = await findDelayed(threads, key, call);
    if (!found) throw error;
    const refused = refusalOf(found.schedule);
    throw conflict(
      refused
        ? `run "${key.runId}" could not be started: ${refused.reason ?? ''}`
        : `run "${key.runId}" starts at ${new Date(startOf(found.schedule)).toISOString()}`,
    );
  }
}

/** Ends a run that starts later, and gives the status of one that could not be started. @throws NotFound where there is none. */
export async function cancelDelayed(
  { owner, runId, call }: RunKey & Pick<EndpointRequest, 'call'>,
  { threads }: Pick<Services, 'threads'>,
): Promise<Pick<StopRunReply, 'status' | 'stoppedNow'>> {
  const found = await findDelayed(threads, { owner, runId }, call());
  if (!found) throw notFound(`there is no run "${runId}"`);
  const { resource, schedule } = found;
  if (refusalOf(schedule)) return { status: 'failed', stoppedNow: false };
  const starting = unavailable(`run "${runId}" is being started`);
  if (schedule.firing || schedule.past.length > 0) throw starting;
  const { kind, version } = resource;
  await threads.deleteResource({ kind, owner, id: runId, version }, call()).catch((error: unknown) => {
    throw isServiceError(error, 'Conflict') ? starting : error;
  });
  return { status: 'stopped', stoppedNow: true };
}
