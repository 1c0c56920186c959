import { integer, type Settings } from '@agent-workflow/kit/env';

/** What the execution service reads from the environment. */
export const executionSettings = {
  RUN_CONCURRENCY: integer(128, 'Runs driven at once by this process', { min: 1, max: 10_000 }),
  RUN_BACKLOG: integer(10_000, 'Runs that may wait for a free place; while so many do, more are refused with 503', {
    min: 1,
    max: 10_000_000,
  }),
  HOT_STATE_MB: integer(64, 'Memory for states of threads run lately, in MiB of JSON', { min: 1, max: 65_536 }),
  EVENTS_RETENTION: integer(3600, 'Seconds that the events of an ended run can be replayed', { min: 1 }),
} satisfies Settings;
