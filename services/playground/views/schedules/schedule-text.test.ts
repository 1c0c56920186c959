import type { ScheduleItem } from '@agent-workflow/client';
import test from 'ava';
import { agentOf, firstText, scheduleTitle, whenText } from './schedule-text.ts';

const schedule = (given: Partial<ScheduleItem>): ScheduleItem => ({
  ...{ schedule_id: 's', status: 'active', run: {}, pending: 0, version: 1, created_at: '', updated_at: '' },
  ...given,
});

test('the times of a schedule are said in words', (t) => {
  t.is(whenText({ cron: '@daily' }), '@daily in UTC');
  t.is(whenText({ cron: '30 8 * * MON', timezone: 'Europe/Berlin' }), '30 8 * * MON in Europe/Berlin');
  t.is(whenText({ every_seconds: 3600 }), 'every hour');
  t.is(whenText({ every_seconds: 5400 }), 'every 90 minutes');
  t.regex(whenText({ at: '2026-01-01T12:00:00Z' }), /^once, on .*Jan/);
  t.is(whenText({ at: 1_767_268_800 }), whenText({ at: '2026-01-01T12:00:00Z' }));
});

test('a schedule is called by its name, else by its first message, else by its times', (t) => {
  const run = { messages: [{ role: 'user', content: 'Weekly price summary' }] };
  t.is(scheduleTitle(schedule({ name: 'Prices', run })), 'Prices');
  t.is(scheduleTitle(schedule({ run })), 'Weekly price summary');
  t.is(scheduleTitle(schedule({ cron: '@daily' })), '@daily in UTC');
  t.is(scheduleTitle(schedule({ run: { messages: [{ role: 'user', content: 'x'.repeat(500) }] } })).length, 120);
});

test('what callers have stored in any shape gives a text or none', (t) => {
  t.is(
    firstText({ messages: [{ content: [{ type: 'image' }, { type: 'text', text: 'what is this?' }] }] }),
    'what is this?',
  );
  for (const messages of [[], [null], [{ content: null }], [{ content: [null] }], 'text', 7, null])
    t.is(firstText({ messages }), '');
  t.is(agentOf({ config: { agent: 'support' } }), 'support');
  for (const config of [null, 'x', [], { agent: 7 }]) t.is(agentOf({ config }), undefined);
});
