import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

const run = {
  messages: [{ role: 'user', content: 'What is 6 times 7?' }],
  recursion_limit: 25,
};

const item = {
  schedule_id: exampleIds.schedule,
  name: 'every working day',
  cron: '30 8 * * MON-FRI',
  timezone: 'Europe/Berlin',
  jitter_seconds: 0,
  overlap: 'skip',
  catch_up: 'one',
  catch_up_seconds: 3600,
  thread: 'new',
  keep_threads: true,
  status: 'active',
  run,
  next_at: '2026-02-06T07:30:00.000Z',
  pending: 0,
  version: 1,
  created_at: '2026-02-05T12:00:00.000Z',
  updated_at: '2026-02-05T12:00:00.000Z',
};

const details = {
  ...item,
  next_times: ['2026-02-06T07:30:00.000Z', '2026-02-09T07:30:00.000Z'],
  last_runs: [],
};

const params = { schedule_id: exampleIds.schedule };

export const createSchedule: Example = {
  body: {
    name: 'every working day',
    cron: '30 8 * * MON-FRI',
    timezone: 'Europe/Berlin',
    run: { messages: [{ role: 'user', content: 'What is 6 times 7?' }] },
  },
  reply: details,
};

export const listSchedules: Example = {
  query: { limit: 1000 },
  reply: { schedules: [item], has_more: false },
};

export const getSchedule: Example = { params, reply: details };

export const updateSchedule: Example = {
  params,
  body: { overlap: 'queue' },
  reply: { ...details, overlap: 'queue', version: 2 },
};

export const deleteSchedule: Example = { params, reply: { success: true } };

export const pauseSchedule: Example = {
  params,
  body: {},
  reply: { ...details, status: 'paused', version: 2, next_at: undefined, next_times: [] },
};

export const resumeSchedule: Example = { params, body: {}, reply: details };

const fired = (slot: string): object => ({
  schedule_id: exampleIds.schedule,
  runs: [{ slot, run_id: exampleIds.run, thread_id: exampleIds.thread }],
});

export const runSchedule: Example = { params, body: {}, reply: fired('2026-02-05T12:00:00.000Z') };

export const backfillSchedule: Example = {
  params,
  body: { from: '2026-02-04T00:00:00Z', to: '2026-02-05T00:00:00Z' },
  reply: fired('2026-02-04T07:30:00.000Z'),
};
