import { conflict, isServiceError, notFound, unavailable, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { StopRunReply } from '@agent-workflow/protos/execution';
import { readTime } from '@agent-workflow/protos/message';
import type { Resource, Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../http/endpoint.ts';
import { deleted } from '../../schedules/advance.ts';
import {
  dueAtOf,
  fromScheduleJson,
  pendingSlot,
  threadOf,
  toScheduleJson,
  withNext,
  type PastSlot,
  type Schedule,
} from '../../schedules/schedule.ts';
import type { Services } from './services.ts';
import { shownItems } from './shown-items.ts';
import type { RunTerms } from '../../schedules/run-terms.ts';
import type { LaterRunOrder, RunOrder } from './run-order.ts';
import { checkRun, claimsOf, createStored, find, recordNow, storedBefore, type Found } from './stored-schedules.ts';

/** The run of a request that names a time which is to come: on record only then. `undefined`: it starts at once. */
export async function delayedRun(
  request: Delaying,
  terms: RunTerms,
  services: Pick<Services, 'threads' | 'execution'>,
): Promise<DelayedRun | undefined> {
  const { start_at: given, ...body } = request.input;
  const at = readTime(given, ['body', 'start_at']);
  if (at === undefined) return undefined;
  const { threads } = services;
  const now = await recordNow(threads, request.call());
  const id = request.newId('run');
  if (at <= now) return undefined;
  const known = await storedBefore(request, services, id);
  if (known) return { runId: id, threadId: slotOf(id, known.schedule).threadId, at: startOf(known.schedule) };
  const { isThreadUnkept, order } = toUnkept(body);
  const run = await checkRun(order, ['body'], services, request.call());
  const schedule: Schedule = {
    spec: {
      timing: { at },
      ...{ jitterMs: 0, overlap: 'allow', catchUp: 'all', catchUpMs: 3_600_000, keepThreads: !isThreadUnkept },
      thread: threadOf(run) === undefined ? 'new' : 'one',
    },
    ...{ run, terms, ...claimsOf(request), delayed: true, paused: false, pending: [], past: [], unkept: [] },
  };
  await createStored({ ...request, isRepeated: false }, services, id, withNext(schedule, at - 1), ['body']);
  const { threadId } = slotOf(id, schedule);
  return { runId: id, threadId, at };
}

/** A thread of its own that is to go with its run is one that its schedule does not keep: a slot that comes again finds it until then. */
function toUnkept(order: RunOrder): { readonly isThreadUnkept: boolean; readonly order: RunOrder } {
  const { on_completion: completion, ...config } = order.config ?? {};
  if (completion !== 'delete' || config.thread_id !== undefined) return { isThreadUnkept: false, order };
  return { isThreadUnkept: true, order: { ...order, config } };
}

interface DelayedRun {
  readonly runId: string;
  readonly threadId: string;
  /** When it starts, in milliseconds since 1970. */
  readonly at: number;
}

type Delaying = Pick<
  EndpointRequest<unknown, LaterRunOrder>,
  'input' | 'owner' | 'user' | 'newId' | 'idempotency' | 'call'
>;

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

/** The same with one that was cancelled before it began, as far as it is kept. */
export async function laterOf(
  threads: Services['threads'],
  { owner, runId: id }: RunKey,
  call: Call,
): Promise<Found | undefined> {
  const resource = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call));
  return resource && laterIn(resource);
}

function laterIn(resource: Resource): Found | undefined {
  const schedule = fromScheduleJson(resource.json);
  return schedule.delayed && (!schedule.deleted || isCancelled(schedule)) ? { resource, schedule } : undefined;
}

/** Whether it was cancelled before it began. */
export const isCancelled = ({ deleted: isDeleted, past: [outcome] }: Schedule): boolean =>
  isDeleted === true && outcome?.outcome === 'skipped';

/** Schedules that are read at a time. */
const atOnce = 100;

/** The runs of a thread that have not begun, the newest first, those included that were cancelled before. */
export async function laterOfThread(
  { threads, log }: Pick<Services, 'threads' | 'log'>,
  { owner, threadId }: { readonly owner: string; readonly threadId: string },
  call: () => Call,
): Promise<readonly Found[]> {
  const show = (resource: Resource): Found | undefined => {
    const later = laterIn(resource);
    return later && isOpen(later) && slotOf(resource.id, later.schedule).threadId === threadId ? later : undefined;
  };
  const found: Found[] = [];
  let cursor: string | undefined;
  do {
    const at = cursor === undefined ? {} : { cursor };
    const page = await threads.listResources({ kind, owner, limit: atOnce, ...at }, call());
    const shown = shownItems(page.resources, { kind, show, idsOf: ({ id }) => ({ scheduleId: id }), log });
    found.push(...shown.filter((later) => later !== undefined));
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found.toSorted((one, other) => other.resource.createdAt - one.resource.createdAt);
}

/** Whether its run is not on record by itself. */
const isOpen = ({ schedule: { past } }: Found): boolean => past.every(({ outcome }) => outcome !== 'started');

const kind = 'schedule';

export interface RunKey {
  readonly owner: string;
  readonly runId: string;
}

/** A run on record. @throws Conflict for one that starts later, or that could not be started. */
export async function runOnRecord(threads: Services['threads'], key: RunKey, call: Call): Promise<Run> {
  const refuse = async (): Promise<undefined> => {
    const found = await findDelayed(threads, key, call);
    if (!found) return undefined;
    const refused = refusalOf(found.schedule);
    throw conflict(
      refused
        ? `run "${key.runId}" could not be started: ${refused.reason ?? ''}`
        : `run "${key.runId}" starts at ${new Date(startOf(found.schedule)).toISOString()}`,
    );
  };
  return runOr(() => threads.getRun(key, call), refuse);
}

/** A run on record, else what `later` gives of one that has not begun. It may begin between the two reads: then it is read again. @throws NotFound */
export async function runOr<R>(read: () => Promise<R>, later: () => Promise<R | undefined>): Promise<R> {
  return (await undefinedIfNotFound(read())) ?? (await later()) ?? read();
}

/**
 * Ends a run that starts later, and gives the status of one that could not be started. One that `isKept` is found by {@link laterOf} for a week.
 * @throws NotFound where there is none.
 */
export async function cancelDelayed(
  { owner, runId, call, isKept = false }: RunKey & Pick<EndpointRequest, 'call'> & { readonly isKept?: boolean },
  { threads }: Pick<Services, 'threads'>,
): Promise<Pick<StopRunReply, 'status' | 'stoppedNow'>> {
  const found = await findDelayed(threads, { owner, runId }, call());
  if (!found) throw notFound(`there is no run "${runId}"`);
  const { resource, schedule } = found;
  if (refusalOf(schedule)) return { status: 'failed', stoppedNow: false };
  const starting = unavailable(`run "${runId}" is being started`);
  if (schedule.firing || schedule.past.length > 0) throw starting;
  const { version } = resource;
  const key = { kind, owner, id: runId } as const;
  const cancelled = { ...deleted(schedule), past: [cancelledAt(startOf(schedule), Date.now())] };
  const dueAt = dueAtOf(runId, cancelled);
  const next = { ...key, version: version + 1, json: toScheduleJson(cancelled), ...(dueAt !== undefined && { dueAt }) };
  const change: Promise<unknown> = isKept
    ? threads.putResource(next, call())
    : threads.deleteResource({ ...key, version }, call());
  await change.catch((error: unknown) => {
    throw isServiceError(error, 'Conflict') ? starting : error;
  });
  return { status: 'stopped', stoppedNow: true };
}

const cancelledAt = (slot: number, at: number): PastSlot => ({
  ...{ slot, at, cause: 'slot', outcome: 'skipped' },
  reason: 'it was cancelled before it began',
});
