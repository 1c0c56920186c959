import { conflict } from '@agent-workflow/kit/errors';
import { readTime } from '@agent-workflow/protos/message';
import type { Static } from 'typebox';
import { invalidAt } from '../../../http/fields.ts';
import { deleted, paused, resumed } from '../../../schedules/advance.ts';
import {
  fromScheduleJson,
  isFiring,
  pendingSlot,
  scheduleBounds,
  threadOf,
  withNext,
  type PastSlot,
  type PendingSlot,
  type Schedule,
  type ScheduleSpec,
} from '../../../schedules/schedule.ts';
import { faultOfCron, slotAfter, slotsAfter, type Timing } from '../../../schedules/slots.ts';
import { zoneOf } from '../../../schedules/zone.ts';
import * as examples from '../examples/schedules.ts';
import { Done } from '../schemas/common.ts';
import { NoInput } from '../schemas/runs.ts';
import {
  BackfillInput,
  CreateScheduleInput,
  FiredSlots,
  ScheduleDetails,
  ScheduleList,
  ScheduleParams,
  SchedulesQuery,
  UpdateScheduleInput,
} from '../schemas/schedules.ts';
import { endpoint } from './common/endpoint.ts';
import { pageOf } from './common/page.ts';
import { shownItems } from '../../common/shown-items.ts';
import {
  change,
  checkRun,
  claimsOf,
  createStored,
  find,
  recordNow,
  storedBefore,
  type Found,
} from '../../common/stored-schedules.ts';

const kind = 'schedule';
type Given = Static<typeof UpdateScheduleInput>;

const timeAt = (given: unknown, name: string): number | undefined => {
  const at = readTime(given, ['body', name]);
  return at === undefined ? undefined : Math.floor(at);
};

function timingOf({ cron, timezone, every_seconds: seconds, at }: Given, anchor: number): Timing {
  const ways = [cron, seconds, at].filter((way) => way !== undefined);
  if (ways.length !== 1) throw invalidAt(['body'], 'must have exactly one of cron, every_seconds and at', 'missing');
  if (cron === undefined && timezone !== undefined)
    throw invalidAt(['body', 'timezone'], 'belongs to cron, which is absent');
  if (seconds !== undefined) return { everyMs: seconds * 1000, anchor };
  if (cron === undefined) return { at: timeAt(at, 'at') ?? 0 };
  const fault = faultOfCron(cron);
  if (fault !== undefined) throw invalidAt(['body', 'cron'], `must be a cron expression of five fields: ${fault}`);
  return { cron, timezone: zoneNamed(timezone ?? 'UTC') };
}

function zoneNamed(timezone: string): string {
  if (!zoneOf(timezone)) throw invalidAt(['body', 'timezone'], 'must be the name of a time zone, as Europe/Berlin');
  return timezone;
}

function timesOf(input: Given, now: number): Pick<ScheduleSpec, 'timing' | 'startsAt' | 'endsAt'> {
  const startsAt = timeAt(input.starts_at, 'starts_at');
  const endsAt = timeAt(input.ends_at, 'ends_at');
  // The interval begins with its anchor: the first slot is the anchor itself.
  const timing = timingOf(
    input,
    (startsAt ?? now + (input.every_seconds ?? 0) * 1000) - (input.every_seconds ?? 0) * 1000,
  );
  const bounds = { ...(startsAt !== undefined && { startsAt }), ...(endsAt !== undefined && { endsAt }) };
  if (slotAfter(timing, bounds, now) === undefined) {
    const field = 'at' in timing ? 'at' : endsAt === undefined ? 'cron' : 'ends_at';
    throw invalidAt(['body', field], 'must leave a time that is to come');
  }
  return { timing, ...bounds };
}

const hasTiming = ({ cron, every_seconds: seconds, at }: Given): boolean =>
  cron !== undefined || seconds !== undefined || at !== undefined;

/** A spec with what a request changes of it. */
function specOf(input: Given, before: ScheduleSpec | undefined, run: Schedule['run'], now: number): ScheduleSpec {
  const { timing: known, startsAt, endsAt, name: namedBefore, metadata: keptBefore, ...rest } = before ?? usual(run);
  const times =
    hasTiming(input) || known === undefined
      ? timesOf(input, now)
      : {
          ...changedZone(known, input),
          ...(startsAt !== undefined && { startsAt }),
          ...(endsAt !== undefined && { endsAt }),
        };
  const name = input.name ?? namedBefore;
  const metadata = input.metadata ?? keptBefore;
  const spec: ScheduleSpec = {
    ...times,
    ...(name !== undefined && { name }),
    ...(metadata && { metadata }),
    jitterMs: input.jitter_seconds === undefined ? rest.jitterMs : input.jitter_seconds * 1000,
    overlap: input.overlap ?? rest.overlap,
    catchUp: input.catch_up ?? rest.catchUp,
    catchUpMs: input.catch_up_seconds === undefined ? rest.catchUpMs : input.catch_up_seconds * 1000,
    thread: input.thread ?? rest.thread,
    keepThreads: input.keep_threads ?? rest.keepThreads,
  };
  if (spec.thread === 'new' && threadOf(run) !== undefined)
    throw invalidAt(['body', 'thread'], 'must be one where run.config.thread_id names a thread');
  const isAsked = spec.overlap !== before?.overlap || spec.thread !== before.thread;
  // A cron of LangGraph's clients has both: the strategy of its runs decides what becomes of the one before.
  if (spec.thread === 'one' && spec.overlap === 'allow' && isAsked)
    throw invalidAt(['body', 'overlap'], 'must not be allow where all runs have one thread');
  if (spec.thread === 'one' && !spec.keepThreads)
    throw invalidAt(['body', 'keep_threads'], 'must not be false where all runs have one thread');
  return spec;
}

function changedZone(
  timing: Timing,
  { timezone, starts_at: starts, ends_at: ends }: Given,
): Pick<ScheduleSpec, 'timing'> {
  const alone = starts === undefined ? (ends === undefined ? undefined : 'ends_at') : 'starts_at';
  if (alone !== undefined) throw invalidAt(['body', alone], 'changes only with cron, every_seconds or at');
  if (timezone === undefined) return { timing };
  if (!('cron' in timing)) throw invalidAt(['body', 'timezone'], 'belongs to cron, which is absent');
  return { timing: { ...timing, timezone: zoneNamed(timezone) } };
}

const usual = (run: Schedule['run']): Omit<ScheduleSpec, 'timing'> & Partial<Pick<ScheduleSpec, 'timing'>> => ({
  ...{ jitterMs: 0, overlap: 'skip', catchUp: 'one', catchUpMs: 3_600_000, keepThreads: true },
  thread: threadOf(run) === undefined ? 'new' : 'one',
});

const iso = (at: number): string => new Date(at).toISOString();

function shownTiming(timing: Timing): Readonly<Record<string, unknown>> {
  if ('cron' in timing) return { cron: timing.cron, timezone: timing.timezone };
  return 'at' in timing ? { at: iso(timing.at) } : { every_seconds: timing.everyMs / 1000 };
}

function statusOf(schedule: Schedule): 'active' | 'paused' | 'disabled' | 'ended' {
  if (schedule.disabled) return 'disabled';
  if (schedule.paused) return 'paused';
  return schedule.next === undefined && schedule.pending.length === 0 && !schedule.firing ? 'ended' : 'active';
}

type Shown = Schedule['run'];

const webhookOf = (run: Shown): Shown | undefined => run['webhook'] as Shown | undefined;

/** The run as it is shown: without the secret of its webhook, as a webhook is. */
function shownRun(run: Shown): Shown {
  const { secret: _, ...webhook } = webhookOf(run) ?? {};
  return 'url' in webhook ? { ...run, webhook } : run;
}

/** A run that is sent as it was shown keeps the secret of its webhook. */
function withKeptSecret(given: Shown, before: Shown): Shown {
  const [webhook, old] = [webhookOf(given), webhookOf(before)];
  if (!webhook || !old || webhook['url'] !== old['url']) return given;
  return { ...given, webhook: { ...('secret' in old && { secret: old['secret'] }), ...webhook } };
}

function toItem({ resource, schedule }: Found): Readonly<Record<string, unknown>> {
  const { spec, run, next, pending, firing, disabled } = schedule;
  return {
    schedule_id: resource.id,
    name: spec.name,
    ...shownTiming(spec.timing),
    ...(spec.startsAt !== undefined && { starts_at: iso(spec.startsAt) }),
    ...(spec.endsAt !== undefined && { ends_at: iso(spec.endsAt) }),
    jitter_seconds: spec.jitterMs / 1000,
    overlap: spec.overlap,
    catch_up: spec.catchUp,
    catch_up_seconds: spec.catchUpMs / 1000,
    thread: spec.thread,
    keep_threads: spec.keepThreads,
    metadata: spec.metadata,
    status: statusOf(schedule),
    disabled_reason: disabled?.reason,
    run: shownRun(run),
    ...(next !== undefined && { next_at: iso(next) }),
    pending: pending.length + (firing ? 1 : 0),
    version: resource.version,
    created_at: iso(resource.createdAt),
    updated_at: iso(resource.updatedAt),
  };
}

const toPast = ({ slot, cause, outcome, at, runId, threadId, reason }: PastSlot) => ({
  ...{ slot: iso(slot), cause, outcome, at: iso(at), run_id: runId, thread_id: threadId, reason },
});

function detailsText(found: Found): string {
  const { spec, next, past } = found.schedule;
  const times = next === undefined ? [] : slotsAfter(spec.timing, spec, next - 1, 10);
  return JSON.stringify({ ...toItem(found), next_times: times.map(iso), last_runs: past.map(toPast) });
}

export const createSchedule = endpoint({
  name: 'createSchedule',
  tag: 'schedules',
  summary: 'Start runs by a schedule',
  description:
    'Starts runs at the times of a cron expression, at an interval, or once. The claims of the caller are stored: with them the authorization backend is asked before each run, and a denial disables the schedule. 404 when there is no such agent; 409 when the caller has 10,000 schedules.',
  example: examples.createSchedule,
  method: 'POST',
  path: '/v1/schedules',
  access: { resource: 'schedules', action: 'write' },
  input: CreateScheduleInput,
  reply: ScheduleDetails,
  handle: async (request, services) => {
    const { input, call, newId } = request;
    const id = newId('schedule');
    const known = await storedBefore(request, services, id);
    if (known) return detailsText(known);
    const run = await checkRun(input.run, ['body', 'run'], services, call());
    const now = await recordNow(services.threads, call());
    const spec = specOf(input, undefined, run, now);
    const schedule = withNext(
      { spec, run, ...claimsOf(request), paused: input.paused ?? false, pending: [], past: [], unkept: [] },
      now,
    );
    const found = await createStored(request, services, id, schedule, ['body', 'run']);
    await request.markAccepted();
    return detailsText(found);
  },
});

export const listSchedules = endpoint({
  name: 'listSchedules',
  tag: 'schedules',
  summary: 'List schedules, the newest first',
  description: 'The schedules of the owner, delayed runs among them, the newest first, in pages.',
  example: examples.listSchedules,
  method: 'GET',
  path: '/v1/schedules',
  access: { resource: 'schedules', action: 'read' },
  input: SchedulesQuery,
  reply: ScheduleList,
  handle: async ({ owner, input, call }, { threads, log }) => {
    const { limit, cursor: after } = pageOf({ ...input, offset: 0 });
    const request = { kind, owner, limit, ...(after !== undefined && { cursor: after }) } as const;
    const { resources, cursor } = await threads.listResources(request, call());
    const schedules = shownItems(resources, {
      kind,
      show: (resource) => ({ resource, schedule: fromScheduleJson(resource.json) }),
      idsOf: ({ id }) => ({ scheduleId: id }),
      log,
    }).filter(({ schedule }) => !schedule.deleted);
    return JSON.stringify({ schedules: schedules.map(toItem), has_more: cursor !== undefined, cursor });
  },
});

export const getSchedule = endpoint({
  name: 'getSchedule',
  tag: 'schedules',
  summary: 'Get a schedule, its next times and its last runs',
  description: 'A schedule, its next ten times, and what became of its last twenty slots.',
  example: examples.getSchedule,
  method: 'GET',
  path: '/v1/schedules/{schedule_id}',
  access: { resource: 'schedules', action: 'read' },
  params: ScheduleParams,
  reply: ScheduleDetails,
  handle: async ({ owner, params, call }, { threads }) =>
    detailsText(await find(threads, owner, params.schedule_id, call())),
});

/** A delayed run that was paused over its time would never start. */
function refuseDelayed({ delayed }: Schedule): void {
  if (delayed) throw conflict('a delayed run does not change: cancel it, and start another');
}

export const updateSchedule = endpoint({
  name: 'updateSchedule',
  tag: 'schedules',
  summary: 'Change a schedule',
  description:
    'Changes the fields that are given, and takes the claims of the caller. Slots that are due already are fired with what is changed. A delayed run is 409: cancel it and start another.',
  example: examples.updateSchedule,
  method: 'PATCH',
  path: '/v1/schedules/{schedule_id}',
  access: { resource: 'schedules', action: 'write' },
  params: ScheduleParams,
  input: UpdateScheduleInput,
  reply: ScheduleDetails,
  handle: async (request, services) => {
    const { input, call } = request;
    const given = input.run && (await checkRun(input.run, ['body', 'run'], services, call()));
    const changed = await change(request, services, (schedule, now) => {
      refuseDelayed(schedule);
      const run = given ? withKeptSecret(given, schedule.run) : schedule.run;
      const spec = specOf(input, schedule.spec, run, now);
      // What another dialect kept of its request is of the run before.
      const { keptRequest: _, ...terms } = schedule.terms ?? {};
      const next = { ...schedule, spec, run, ...(given && { terms }), ...claimsOf(request) };
      return hasTiming(input) || input.timezone !== undefined ? withNext(next, now) : next;
    });
    return detailsText(changed);
  },
});

export const deleteSchedule = endpoint({
  name: 'deleteSchedule',
  tag: 'schedules',
  summary: 'Delete a schedule',
  description:
    'Starts no further run. Runs that were started go on; threads that are not kept go when their runs have ended. Of a delayed run it is the same as to cancel it.',
  example: examples.deleteSchedule,
  method: 'DELETE',
  path: '/v1/schedules/{schedule_id}',
  access: { resource: 'schedules', action: 'delete' },
  params: ScheduleParams,
  reply: Done,
  handle: async (request, services) => {
    await change(request, services, deleted);
    return JSON.stringify({ success: true });
  },
});

export const pauseSchedule = endpoint({
  name: 'pauseSchedule',
  tag: 'schedules',
  summary: 'Pause a schedule',
  description:
    'Fires no slot until it is resumed, also none that is due already. Runs that were started go on. A delayed run is 409.',
  example: examples.pauseSchedule,
  method: 'POST',
  path: '/v1/schedules/{schedule_id}/pause',
  access: { resource: 'schedules', action: 'write' },
  params: ScheduleParams,
  input: NoInput,
  reply: ScheduleDetails,
  handle: async (request, services) =>
    detailsText(
      await change(request, services, (schedule) => {
        refuseDelayed(schedule);
        return schedule.paused ? schedule : paused(schedule);
      }),
    ),
});

export const resumeSchedule = endpoint({
  name: 'resumeSchedule',
  tag: 'schedules',
  summary: 'Resume a schedule that was paused or disabled',
  description:
    'Goes on with the first slot that is to come, and takes the claims of the caller. Slots of meanwhile stay left out.',
  example: examples.resumeSchedule,
  method: 'POST',
  path: '/v1/schedules/{schedule_id}/resume',
  access: { resource: 'schedules', action: 'write' },
  params: ScheduleParams,
  input: NoInput,
  reply: ScheduleDetails,
  handle: async (request, services) =>
    detailsText(
      await change(request, services, (schedule, now) => {
        refuseDelayed(schedule);
        return schedule.paused || schedule.disabled ? { ...resumed(schedule, now), ...claimsOf(request) } : schedule;
      }),
    ),
});

/** The slots that a caller asks for, unless an earlier attempt of the request has added them. */
function addPending(schedule: Schedule, slots: readonly PendingSlot[], first: boolean): Schedule {
  if (!isFiring(schedule)) throw conflict('the schedule is disabled: resume it first');
  const ids = new Set(slots.map(({ runId }) => runId));
  const known = [...schedule.pending, ...(schedule.firing ? [schedule.firing] : []), ...schedule.past];
  if (known.some(({ runId }) => runId !== undefined && ids.has(runId))) return schedule;
  const room = scheduleBounds.pending - schedule.pending.length;
  if (slots.length > room)
    throw conflict(
      `${String(schedule.pending.length)} slots are pending, and at most ${String(scheduleBounds.pending)} may be`,
    );
  const { waitUntil: _, ...rest } = schedule;
  return { ...rest, pending: first ? [...slots, ...schedule.pending] : [...schedule.pending, ...slots] };
}

const firedText = (id: string, slots: readonly PendingSlot[]): string =>
  JSON.stringify({
    schedule_id: id,
    runs: slots.map(({ slot, runId, threadId }) => ({ slot: iso(slot), run_id: runId, thread_id: threadId })),
  });

export const runSchedule = endpoint({
  name: 'runSchedule',
  tag: 'schedules',
  summary: 'Start a run of a schedule now',
  description:
    'Starts a run within moments, also while the schedule is paused and while another run of it goes on. 409 when it is disabled, or 100 slots are pending.',
  example: examples.runSchedule,
  method: 'POST',
  path: '/v1/schedules/{schedule_id}/run',
  status: 202,
  access: { resource: 'schedules', action: 'write' },
  params: ScheduleParams,
  input: NoInput,
  reply: FiredSlots,
  handle: async (request, services) => {
    const id = request.params.schedule_id;
    const key = request.newId('run now');
    const slots: PendingSlot[] = [];
    const slot = request.at.getTime();
    await change(request, services, (schedule) => {
      if (schedule.delayed) throw conflict('a delayed run starts once, at its time');
      slots.splice(0, slots.length, pendingSlot(id, schedule, { slot, cause: 'manual', key }));
      return addPending(schedule, slots, true);
    });
    return firedText(id, slots);
  },
});

export const backfillSchedule = endpoint({
  name: 'backfillSchedule',
  tag: 'schedules',
  summary: 'Start the runs of past slots',
  description:
    'Starts a run for each slot of a past time, whether it was fired or not, in their order; each waits for the one before it, unless `overlap` is `allow`. At most 100 slots: 422 when there are more or none, 409 when too many are pending.',
  example: examples.backfillSchedule,
  method: 'POST',
  path: '/v1/schedules/{schedule_id}/backfill',
  status: 202,
  access: { resource: 'schedules', action: 'write' },
  params: ScheduleParams,
  input: BackfillInput,
  reply: FiredSlots,
  handle: async (request, services) => {
    const id = request.params.schedule_id;
    const from = timeAt(request.input.from, 'from') ?? 0;
    const to = timeAt(request.input.to, 'to') ?? 0;
    const key = request.newId('backfill');
    const slots: PendingSlot[] = [];
    await change(request, services, (schedule, now) => {
      if (schedule.delayed) throw conflict('a delayed run starts once, at its time');
      if (to > now) throw invalidAt(['body', 'to'], 'must be past');
      const { pending: most } = scheduleBounds;
      const times = slotsAfter(schedule.spec.timing, schedule.spec, from - 1, most + 1).filter((slot) => slot <= to);
      if (times.length === 0) throw invalidAt(['body'], 'has no slot between from and to');
      if (times.length > most) throw invalidAt(['body'], `has more than ${String(most)} slots between from and to`);
      const added = times.map((slot) => pendingSlot(id, schedule, { slot, cause: 'backfill', key }));
      slots.splice(0, slots.length, ...added);
      return addPending(schedule, slots, false);
    });
    return firedText(id, slots);
  },
});
