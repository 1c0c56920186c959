import test from 'ava';
import fc from 'fast-check';
import type { EventKind, RunEvent } from '@agent-workflow/client';
import { createFiltered, noFilter, type EventFilter } from './filtered.ts';
import { addEvent, createRunLog } from './run-log.ts';

const eventOf = (seq: number, kind: EventKind, data: unknown, metadata = {}): RunEvent => ({
  ...{ id: `run:${String(seq)}`, event: kind, data, thread_id: 't', run_id: 'run', metadata },
  timestamp: '2026-01-01T12:00:00.000Z',
});

const anyEvent = fc.record({
  kind: fc.constantFrom<EventKind[]>('messages_chunk', 'state_chunk', 'on_chain_stream'),
  data: fc.oneof(fc.constantFrom('Alpha', 'beta'), fc.record({ node: fc.constantFrom('alpha', 'b') })),
  step: fc.nat(2),
});
const anyFilter: fc.Arbitrary<EventFilter> = fc.record(
  {
    kind: fc.constantFrom<EventFilter['kind'][]>('', 'messages_chunk', 'state_chunk'),
    text: fc.constantFrom('', 'ALPHA', 'bet'),
    place: fc.record({ step: fc.nat(2), node: fc.constant('n') }),
  },
  { requiredKeys: ['kind', 'text'] },
);

test('a filter that is read while events come gives what it gives at their end', (t) => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 40 }), anyFilter, fc.nat(5), (list, filter, pause) => {
      const log = createRunLog();
      const growing = createFiltered();
      list.forEach(({ kind, data, step }, index) => {
        addEvent(log, eventOf(index + 1, kind, data, { node: 'n', step }), { isLive: true });
        if (index % (pause + 1) === 0) growing.read(log, filter);
      });
      t.deepEqual(growing.read(log, filter), createFiltered().read(log, filter));
    }),
  );
});

test('a filter finds kind, text of any case, and the node of a step', (t) => {
  const log = createRunLog();
  const events = [
    eventOf(1, 'state_chunk', { total: 1 }, { node: 'sum', step: 0 }),
    eventOf(2, 'messages_chunk', 'The TOTAL is one', { node: 'say', step: 1 }),
    eventOf(3, 'state_chunk', { other: 2 }, { step: 1 }),
    eventOf(4, 'on_chain_stream', { status: 'progress', branch: 4 }, { node: 'say', step: 1 }),
  ];
  for (const event of events) addEvent(log, event, { isLive: true });
  const found = (filter: Partial<EventFilter>): number[] =>
    createFiltered()
      .read(log, { ...noFilter, ...filter })
      .map(({ seq }) => seq);
  t.deepEqual(found({ kind: 'state_chunk' }), [1, 3]);
  t.deepEqual(found({ text: 'total' }), [1, 2]);
  t.deepEqual(found({ place: { step: 1, node: 'say' } }), [2, 3, 4]);
  t.deepEqual(found({ place: { step: 1 } }), [2, 3, 4]);
  t.deepEqual(found({ place: { step: 1, node: 'say', branch: 4 } }), [4]);
  t.deepEqual(found({ kind: 'messages_chunk', text: 'nothing' }), []);
});

test('a filter begins anew when the log does', (t) => {
  const log = createRunLog();
  const filtered = createFiltered();
  addEvent(log, eventOf(1, 'metadata', {}), { isLive: true });
  addEvent(log, eventOf(2, 'state_chunk', {}), { isLive: true });
  t.is(filtered.read(log, noFilter).length, 2);
  addEvent(log, eventOf(9, 'metadata', { rebuilt: true }), { isLive: true });
  t.deepEqual(
    filtered.read(log, noFilter).map(({ seq }) => seq),
    [9],
  );
});
