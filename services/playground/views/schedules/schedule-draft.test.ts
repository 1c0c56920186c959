import type { ScheduleItem } from '@agent-workflow/client';
import test from 'ava';
import { draftOf, newDraft, toChange, toNewSchedule } from './schedule-draft.ts';

const run = { messages: [{ role: 'user', content: 'Sum up the prices' }], config: { agent: 'research', extra: 1 } };
const schedule = (given: Partial<ScheduleItem>): ScheduleItem => ({
  ...{ schedule_id: 's', status: 'active', run, pending: 0, version: 1, created_at: '', updated_at: '' },
  ...given,
});

test('a form gives the request of its kind, and no field of the other kinds', (t) => {
  const draft = { ...newDraft('Europe/Berlin'), name: ' Prices ', message: 'Sum up', agent: 'research' };
  t.deepEqual(toNewSchedule(draft), {
    ...{ name: 'Prices', cron: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' },
    ...{ overlap: 'skip', catch_up: 'one', thread: 'new' },
    run: { messages: [{ role: 'user', content: 'Sum up' }], config: { agent: 'research' } },
  });
  const hourly = toNewSchedule({ ...draft, kind: 'every', every: '2', unit: '3600' });
  t.is(hourly.every_seconds, 7200);
  t.is(hourly.cron, undefined);
  t.is(toNewSchedule({ ...draft, kind: 'once', at: 'soon' }).at, 'soon');
});

test('the form of a schedule gives it back, with the run that the form cannot show', (t) => {
  for (const given of [
    { cron: '@daily', timezone: 'UTC' },
    { every_seconds: 90 },
    { at: '2026-01-01T12:00:00.000Z' },
  ]) {
    const before = schedule({ ...given, ends_at: '2027-01-01T00:00:00.000Z' });
    const change = toChange(draftOf(before, 'UTC'), before);
    t.like(change, { ...given, ends_at: '2027-01-01T00:00:00.000Z' });
    t.is(change.run, undefined);
  }
  const daily = schedule({ cron: '@daily' });
  t.deepEqual(toChange({ ...draftOf(daily, 'UTC'), message: 'Else' }, daily).run, {
    messages: [{ role: 'user', content: 'Else' }],
    config: { agent: 'research' },
  });
});

test('an interval is shown in the largest unit that divides it', (t) => {
  t.like(draftOf(schedule({ every_seconds: 86_400 }), 'UTC'), { every: '1', unit: '86400' });
  t.like(draftOf(schedule({ every_seconds: 5400 }), 'UTC'), { every: '90', unit: '60' });
});
