import {
  catchUpPolicies,
  firingCauses,
  overlapPolicies,
  scheduleBounds,
  scheduleThreads,
  slotOutcomes,
} from '../../../schedules/schedule.ts';
import { Type } from '../../common/builders.ts';
import {
  Cursor,
  described,
  givenTime,
  Id,
  JsonObject,
  limitOf,
  objectOf,
  paged,
  runId,
  text,
  threadId,
  time,
  words,
} from './common.ts';
import { RunInput } from './graph.ts';

/** Bounds of what a request may say, in seconds where no unit is named. */
const scheduleLimits = {
  every: { least: 10, most: 366 * 86_400 },
  jitter: 3600,
  catchUp: 7 * 86_400,
  cron: 256,
} as const;

export const ScheduleParams = Type.Object({ schedule_id: described(Id, 'The schedule') });

const name = Type.String({ maxLength: scheduleBounds.text, format: 'well-formed', description: 'A name, for people' });
const overlap = words(overlapPolicies, {
  description: 'What happens to a slot that is due while the run of the slot before it goes on. Default: `skip`',
  meanings: {
    skip: 'it is left out',
    queue: 'it waits until that run has ended; at most 100 wait',
    cancel_other: 'that run is stopped first',
    allow: 'both runs go on, where each has a thread of its own',
  },
});
const catchUp = words(catchUpPolicies, {
  description:
    'What happens to slots that could not be fired in their time, a minute, because the service or the authorization backend was unavailable. Default: `one`',
  meanings: {
    none: 'they are left out',
    one: 'the newest of them is fired',
    all: 'all of them are fired, in their order',
  },
});
const thread = words(scheduleThreads, {
  description: 'The threads of the runs. Default: `new`, or `one` where `run.config.thread_id` names a thread',
  meanings: { one: 'all runs have the same thread', new: 'each run has a thread of its own' },
});
const second = { maximum: scheduleLimits.catchUp };

const given = {
  name: Type.Optional(name),
  cron: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: scheduleLimits.cron,
      description:
        'When runs start: a cron expression of five fields (minute, hour, day of the month, month, day of the week), or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. Where both days are given, either counts',
    }),
  ),
  timezone: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'The time zone of `cron`, as `Europe/Berlin`. A time that its clocks leave out counts as the first moment after it; of a time that they show twice the first counts. What is due in every hour goes on meanwhile. Default: `UTC`',
    }),
  ),
  every_seconds: Type.Optional(
    Type.Integer({
      minimum: scheduleLimits.every.least,
      maximum: scheduleLimits.every.most,
      description: 'Runs start at this interval, counted from `starts_at`, or else from when the schedule was made',
    }),
  ),
  at: Type.Optional(givenTime('The one moment at which a run starts', 'none')),
  starts_at: Type.Optional(givenTime('No run starts before', 'none')),
  ends_at: Type.Optional(givenTime('No run starts after', 'none')),
  jitter_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: scheduleLimits.jitter,
      description:
        'Each slot is fired up to so much later, by a number that is always the same for the schedule and the slot. Default: 0',
    }),
  ),
  overlap: Type.Optional(overlap),
  catch_up: Type.Optional(catchUp),
  catch_up_seconds: Type.Optional(
    Type.Integer({ minimum: 60, ...second, description: 'How late a slot may be that is made up for. Default: 3600' }),
  ),
  thread: Type.Optional(thread),
  keep_threads: Type.Optional(
    Type.Boolean({
      description:
        'Whether the threads of `thread: new` stay. Otherwise each goes some minutes after its run has ended, unless the run asks something. Default: true',
    }),
  ),
  metadata: Type.Optional(described(JsonObject, 'Anything that the caller keeps with the schedule')),
};

const run = described(
  RunInput,
  'What each run is started with, as the body of `POST /v1/runs`, without `resume`. With the claims of the caller at most 56 KiB',
);

export const CreateScheduleInput = objectOf(
  'CreateSchedule',
  'Runs that start by themselves: by one of `cron`, `every_seconds` and `at`.',
  {
    ...given,
    paused: Type.Optional(Type.Boolean({ description: 'Whether it begins as paused. Default: false' })),
    run,
  },
);

export const UpdateScheduleInput = objectOf(
  'UpdateSchedule',
  'What changes of a schedule. Where one of `cron`, `every_seconds` and `at` is given, `starts_at` and `ends_at` are replaced too: absent, there are none.',
  { ...given, run: Type.Optional(run) },
);

export const BackfillInput = objectOf('BackfillSchedule', 'A time whose slots are fired now.', {
  from: givenTime('The first moment', 'none'),
  to: givenTime('The last moment, which is past', 'none'),
});

const pastSlot = objectOf('PastSlot', 'What became of a slot.', {
  slot: time('The time that the run was meant for'),
  cause: words(firingCauses, {
    description: 'Why it was fired',
    meanings: {
      slot: 'its time had come',
      manual: 'a caller asked for it',
      backfill: 'a caller asked for the slots of a time',
    },
  }),
  outcome: words(slotOutcomes, {
    description: 'What became of it',
    meanings: {
      started: 'its run was accepted',
      skipped: 'it was left out, because of the run before it',
      missed: 'it and those that followed it were not fired in their time, and left out',
      refused: 'no run was accepted: `reason` says why',
    },
  }),
  at: time('When that was'),
  run_id: Type.Optional(runId),
  thread_id: Type.Optional(threadId),
  reason: Type.Optional(text('Why no run was started; absent where one was')),
});

/** What the claims of a caller become is not shown. */
const ScheduleItem = objectOf('Schedule', 'Runs that start by themselves.', {
  schedule_id: text('The id of the schedule; of a delayed run that of the run'),
  ...given,
  at: Type.Optional(time('The one moment at which a run starts')),
  starts_at: Type.Optional(time('No run starts before')),
  ends_at: Type.Optional(time('No run starts after')),
  status: words(['active', 'paused', 'disabled', 'ended'], {
    description: 'Whether it fires',
    meanings: {
      active: 'it fires its next slot',
      paused: 'it was paused, and fires only what a caller asks for',
      disabled: 'its runs were not allowed any more: `disabled_reason`. A resume takes the claims of its caller',
      ended: 'it has no slot left',
    },
  }),
  disabled_reason: Type.Optional(text('Why it fires no more; absent unless it is disabled')),
  run: described(JsonObject, 'What each run is started with'),
  next_at: Type.Optional(time('The next slot; absent when there is none')),
  pending: Type.Integer({ minimum: 0, description: 'How many slots are due and were not fired yet' }),
  version: Type.Integer({ minimum: 1, description: 'Rises with every change, also by what it fires' }),
  created_at: time('When it was made'),
  updated_at: time('When it changed last'),
});

export const ScheduleDetails = objectOf('ScheduleDetails', 'A schedule with what comes and what was.', {
  ...ScheduleItem.properties,
  next_times: Type.Array(Type.String(), { description: 'The next ten slots, without jitter. ISO 8601, UTC' }),
  last_runs: Type.Array(pastSlot, { description: 'What became of the last twenty slots, the newest first' }),
});

export const ScheduleList = objectOf('ScheduleList', 'A page of schedules.', {
  schedules: Type.Array(ScheduleItem, { description: 'The schedules, the newest first' }),
  has_more: paged.has_more,
  cursor: paged.cursor,
});

export const SchedulesQuery = Type.Object({
  limit: limitOf(100),
  cursor: Type.Optional(described(Cursor, 'The `cursor` of the page before')),
});

const firedSlot = objectOf('FiredSlot', 'A slot that is fired within moments.', {
  slot: time('The time that the run is meant for'),
  run_id: runId,
  thread_id: threadId,
});

export const FiredSlots = objectOf('FiredSlots', 'Slots that are fired within moments, in this order.', {
  schedule_id: text('The id of the schedule'),
  runs: Type.Array(firedSlot, { description: 'Their runs. Each is 404 until it is accepted' }),
});
