import test from 'ava';
import { threadFilterOf, threadSelectionOf, whyOfThread } from './thread-selection.ts';

const now = new Date(2026, 10, 29, 15).getTime();

test('each parameter of the address is a filter', (t) => {
  t.deepEqual(threadFilterOf({}, now), {});
  t.deepEqual(threadFilterOf({ search: 'a', agent: 'b', status: 'under-way', days: '7' }, now), {
    ...{ search: 'a', agent: 'b', status: ['queued', 'running', 'sleeping'] },
    updated_from: new Date(2026, 10, 23).toISOString(),
  });
  t.deepEqual(threadFilterOf({ status: 'asking' }, now), { waits_for: 'answer' });
  for (const query of [{ status: 'bogus' }, { days: '0' }, { days: 'x' }]) t.deepEqual(threadFilterOf(query, now), {});
});

test('a selection leaves out what is open', (t) => {
  t.deepEqual(threadSelectionOf({ search: 'a', at: '1', tab: 'state', agent: '' }), { search: 'a' });
});

test('a thread says what it waits for', (t) => {
  t.is(whyOfThread({ status: 'interrupted', waits_for: 'tool_results' }), 'waits for tools');
  t.is(whyOfThread({ status: 'interrupted', waits_for: 'answer' }), 'waits for an answer');
  t.is(whyOfThread({ status: 'running' }), 'running');
  t.is(whyOfThread({ status: 'idle' }), undefined);
});
