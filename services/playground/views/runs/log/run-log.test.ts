import test from 'ava';
import fc from 'fast-check';
import type { EventKind, RunEvent } from '@agent-workflow/client';
import { addEvent, createRunLog, type RunLog } from './run-log.ts';

const start = Date.parse('2026-01-01T12:00:00.000Z');

/** Events with numbers and times of their own, each a millisecond after the one before. */
function numbered(list: readonly Partial<RunEvent>[]): RunEvent[] {
  return list.map((event, index) => ({
    id: `run:${String(index + 1)}`,
    event: 'on_chain_start',
    data: {},
    thread_id: 'thread',
    run_id: 'run',
    metadata: {},
    timestamp: new Date(start + index).toISOString(),
    ...event,
  }));
}

const first = (data: object = {}): Partial<RunEvent> => ({ event: 'metadata', data });
const status = (node: string, step: number, what: string, more: object = {}): Partial<RunEvent> => ({
  event: 'on_chain_stream',
  data: { node, step, status: what, ...more },
  metadata: { node, step },
});
const ended = (meta: object): Partial<RunEvent> => ({ event: 'on_chain_end', data: { meta } });

function read(list: readonly Partial<RunEvent>[], isLive = false): RunLog {
  const log = createRunLog();
  for (const event of numbered(list)) addEvent(log, event, { isLive });
  return log;
}

/** The visits without their times. */
const seen = ({ visits }: RunLog): unknown[] =>
  visits.map(({ node, step, state, attempts }) => ({ node, step, state, causes: attempts.map(({ cause }) => cause) }));

test('a retry and a takeover of a step are attempts of one visit, told apart', (t) => {
  const log = read([
    first(),
    status('a', 0, 'started'),
    status('a', 0, 'restarted', { attempt: 2 }),
    status('a', 0, 'restarted', { attempt: 3, takeover: true }),
    status('a', 0, 'completed'),
    status('a', 1, 'started'),
  ]);
  t.deepEqual(seen(log), [
    { node: 'a', step: 0, state: 'completed', causes: ['start', 'failure', 'takeover'] },
    { node: 'a', step: 1, state: 'running', causes: ['start'] },
  ]);
  t.is(log.counts.get('a'), 2);
  t.deepEqual([...log.open.keys()], ['a']);
});

test('a node that sleeps is open until its next step, and slept after it', (t) => {
  const wakeAt = new Date(start + 10_000).toISOString();
  const asleep = [
    first(),
    status('nap', 0, 'started'),
    status('nap', 0, 'completed'),
    status('nap', 0, 'sleeping', { wake_at: wakeAt }),
  ];
  const log = read(asleep);
  t.like(log.visits[0], { state: 'sleeping', wakeAt: start + 10_000, endedAt: undefined });
  t.deepEqual(seen(read([...asleep, status('nap', 1, 'started'), status('nap', 1, 'completed')])), [
    { node: 'nap', step: 0, state: 'slept', causes: ['start'] },
    { node: 'nap', step: 1, state: 'completed', causes: ['start'] },
  ]);
});

test('the end of a run ends what is open: failed where the error says so, asking where a question waits', (t) => {
  const two = [first(), status('a', 0, 'started'), status('b', 0, 'started')];
  t.deepEqual(
    read([...two, { event: 'error', data: { node: 'b' } }]).visits.map(({ state }) => state),
    ['stopped', 'failed'],
  );
  const asked = [...two, status('a', 0, 'completed'), status('b', 0, 'completed')];
  t.deepEqual(
    read([...asked, ended({ status: 'interrupted', interrupts: [{ id: '1', node: 'b' }] })]).visits.map(
      ({ state }) => state,
    ),
    ['completed', 'interrupted'],
  );
});

test('a log that begins again voids what was there', (t) => {
  const log = read([first(), status('a', 0, 'started'), ended({ status: 'stopped' }), first({ rebuilt: true })]);
  t.is(log.events.length, 1);
  t.is(log.visits.length, 0);
  t.is(log.generation, 1);
  t.true(log.isRebuilt);
  t.is(log.last, undefined);
});

test('beyond the bound of the list the text of messages is counted, and all else is listed', (t) => {
  const maxListed = 3;
  const log = createRunLog({ maxListed });
  const [chunk, whole] = numbered([
    { event: 'messages_chunk', data: 'x' },
    { event: 'messages_chunk', data: '', message: { message_id: 'm', role: 'assistant', content: [], timestamp: '' } },
  ]) as [RunEvent, RunEvent];
  for (let count = 0; count < maxListed + 5; count++) addEvent(log, chunk, { isLive: true });
  addEvent(log, whole, { isLive: true });
  t.is(log.unlisted, 5);
  t.is(log.events.length, maxListed + 1);
});

interface Planned {
  readonly nodes: readonly string[];
  readonly failures: number;
  readonly takeovers: number;
}

const node = fc.constantFrom('a', 'b', 'c', 'constructor', '__proto__');
const planned: fc.Arbitrary<Planned> = fc.record({
  nodes: fc.uniqueArray(node, { minLength: 1, maxLength: 4 }),
  failures: fc.nat(2),
  takeovers: fc.nat(2),
});

/** The events that a service publishes of such steps. */
function eventsOf(steps: readonly Planned[]): Partial<RunEvent>[] {
  return [
    first(),
    ...steps.flatMap(({ nodes, failures, takeovers }, step) => [
      ...nodes.map((each) => status(each, step, 'started')),
      ...Array.from({ length: failures }, (_, index) =>
        status(nodes[0] ?? '', step, 'restarted', { attempt: index + 2 }),
      ),
      ...Array.from({ length: takeovers }, (_, index) =>
        nodes.map((each) => status(each, step, 'restarted', { attempt: index + 1, takeover: true })),
      ).flat(),
      ...nodes.map((each) => status(each, step, 'completed')),
    ]),
    ended({ status: 'completed' }),
  ];
}

test('the visits of any run are its steps, each node with its attempts', (t) => {
  fc.assert(
    fc.property(fc.array(planned, { maxLength: 12 }), (steps) => {
      const log = read(eventsOf(steps));
      t.deepEqual(
        seen(log),
        steps.flatMap(({ nodes, failures, takeovers }, step) =>
          nodes.map((each, index) => ({
            node: each,
            step,
            state: 'completed',
            causes: [
              'start',
              ...Array.from({ length: index === 0 ? failures : 0 }, () => 'failure'),
              ...Array.from({ length: takeovers }, () => 'takeover'),
            ],
          })),
        ),
      );
      t.is(log.open.size, 0);
    }),
    { numRuns: 200 },
  );
});

const kinds: readonly EventKind[] = ['metadata', 'on_chain_start', 'on_chain_stream', 'on_chain_end'];
const anyEvent = fc.record({
  event: fc.constantFrom(...kinds, 'messages_chunk' as const, 'error' as const),
  data: fc.oneof(
    fc.record({
      node: fc.oneof(node, fc.integer()),
      step: fc.oneof(fc.nat(5), fc.string()),
      status: fc.constantFrom('started', 'restarted', 'completed', 'sleeping', 'other'),
      meta: fc.oneof(fc.jsonValue(), fc.record({ interrupts: fc.array(fc.record({ node })) })),
    }),
    fc.jsonValue(),
  ),
  metadata: fc.record({ node, step: fc.nat(5) }),
});

test('whatever events come in whatever order, none is lost, counts agree, and nothing is open after the end', (t) => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 60 }), fc.boolean(), (list, isLive) => {
      const log = read(list, isLive);
      const since = list.findLastIndex(({ event }) => event === 'metadata');
      t.is(log.events.length, list.length - Math.max(0, since));
      t.is(log.replayed, isLive ? 0 : log.events.length);
      const counts = new Map<string, number>();
      for (const visit of log.visits) {
        counts.set(visit.node, (counts.get(visit.node) ?? 0) + 1);
        t.true(visit.attempts.length > 0);
        if (visit.endedAt !== undefined) t.true(visit.endedAt >= visit.startedAt);
      }
      t.deepEqual(counts, log.counts);
      if (log.last !== undefined && log.last === log.events.at(-1)?.event) t.is(log.open.size, 0);
    }),
    { numRuns: 500 },
  );
});
