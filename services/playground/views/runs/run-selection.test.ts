import test from 'ava';
import {
  anyDuration,
  chartFilterOf,
  furtherFilters,
  givenFilters,
  rangeOf,
  runFilterOf,
  selectionOf,
  statusesOf,
} from './run-selection.ts';

const now = new Date(2026, 10, 29, 15, 30).getTime();
const at = (...given: [number, number, number]): string => new Date(...given).toISOString();

test('an address without parameters selects all runs', (t) => {
  t.deepEqual(runFilterOf({}, now), {});
  t.deepEqual(runFilterOf({ search: '', status: '' }, now), {});
});

test('each parameter is a filter', (t) => {
  const query = {
    search: 'a',
    agent: 'b',
    revision: 'c',
    node: 'd',
    error: 'e',
    status: 'under-way',
    min: '1.5',
    max: '60',
  };
  t.deepEqual(runFilterOf(query, now), {
    ...{ search: 'a', agent: 'b', revision: 'c', node: 'd', error: 'e' },
    ...{ status: ['queued', 'running', 'sleeping'], min_duration_ms: 1500, max_duration_ms: 60_000 },
  });
});

test('a range is of whole days of the reader, the last one included', (t) => {
  t.deepEqual(runFilterOf({ days: '7' }, now), { from: at(2026, 10, 23) });
  t.deepEqual(runFilterOf({ days: '1' }, now), { from: at(2026, 10, 29) });
  t.deepEqual(runFilterOf({ from: '2026-11-27', to: '2026-11-27' }, now), {
    from: at(2026, 10, 27),
    to: at(2026, 10, 28),
  });
  t.deepEqual(runFilterOf({ to: '2026-12-31' }, now), { to: at(2027, 0, 1) });
});

test('what is no range, number or status selects nothing', (t) => {
  for (const query of [{ days: '0' }, { days: 'many' }, { from: 'today' }, { from: '2026-11-27T00' }])
    t.deepEqual(rangeOf(query, now), {});
  for (const query of [{ min: '-1' }, { min: 'long' }, { max: '1e400' }]) t.deepEqual(runFilterOf(query, now), {});
  t.is(statusesOf('bogus'), undefined);
  t.deepEqual(statusesOf('sleeping'), ['sleeping']);
});

test('the chart begins two weeks ago unless a range is chosen', (t) => {
  t.deepEqual(chartFilterOf({ agent: 'b' }, now), { agent: 'b', from: at(2026, 10, 16) });
  t.deepEqual(chartFilterOf({ days: '30' }, now), { from: at(2026, 9, 31) });
});

test('a selection is the parameters that select, and says what the bar does not show', (t) => {
  t.deepEqual(selectionOf({ status: 'failed', tab: 'x', node: '' }), { status: 'failed' });
  t.deepEqual(
    furtherFilters({ node: 'fetch', min: '30', status: 'failed' }).map(({ text }) => text),
    ['at fetch', 'took 30.0 s or longer'],
  );
});

test('slow is what takes longer than 95 of 100 runs of the selection', (t) => {
  const slow = { query: { agent: 'sync' }, p95Ms: 4200 };
  t.deepEqual(givenFilters(slow)[3], { name: 'Slower than 95 % (4.2 s)', query: { agent: 'sync', min: '4.2' } });
  t.deepEqual(anyDuration({ agent: 'sync', min: '4.2', max: '9' }), { agent: 'sync' });
  t.false(givenFilters(undefined).some(({ name }) => name.startsWith('Slower')));
});
