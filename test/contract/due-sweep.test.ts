import test from 'ava';
import { conflict } from '@agent-workflow/kit/errors';
import { createDueSweep, openDueSweep, type HandleDue, type SweptResource } from '@agent-workflow/runtime/due-sweep';
import { never } from '@agent-workflow/protos/call';
import type { Resource, Threads } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { until } from '../until.ts';
import { bytes, call, owner } from './thread-calls.ts';

const kind = 'schedule';
const minuteMs = 60_000;

interface Opened extends AsyncDisposable {
  readonly threads: Threads;
  /** Moves the clock of the record. */
  readonly pass: (ms: number) => void;
  readonly put: (id: string, json?: string) => Promise<void>;
  readonly get: (id: string) => Promise<Resource>;
}

function open(): Opened {
  const store = openSqliteThreadStore({ path: ':memory:' });
  let clock = 1_000_000;
  const threads = createThreads({ store, now: () => clock });
  return {
    threads,
    pass: (ms) => {
      clock += ms;
    },
    put: async (id, json = '{}') => {
      await threads.putResource({ kind, owner, id, version: 1, json: bytes(json), dueAt: clock }, call());
    },
    get: (id) => threads.getResource({ kind, owner, id }, call()),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Sweeps what is due, with a handler that gets the objects of an opened record. */
function sweeping({ threads }: Opened, handle: HandleDue, handleMs = minuteMs) {
  const logged: string[] = [];
  const log = { error: (fields: object): void => void logged.push((fields as { readonly id: string }).id) };
  const sweep = createDueSweep({ threads, kind, handle, handleMs, log });
  return { sweep: (signal = never) => sweep(signal), logged };
}

/** Writes the next version, which is due no more. */
const settle = async ({ threads }: Opened, { version, ...resource }: SweptResource): Promise<void> => {
  const { id, json } = resource;
  await threads.putResource({ kind, owner, id, json, version: version + 1 }, call());
};

test('each object that is due by the clock of the record is handled once, whatever the clock of the process', async (t) => {
  await using record = open();
  const handled: string[] = [];
  const { sweep, logged } = sweeping(record, async (resource, { now }) => {
    t.true(now() >= (resource.dueAt ?? NaN) && now() < 1_000_000 + 2 * minuteMs);
    handled.push(resource.id);
    await settle(record, resource);
  });
  const ids = Array.from({ length: 250 }, (_, index) => `s${String(index)}`);
  for (const id of ids) await record.put(id);
  const later = { kind, owner, id: 'later', version: 1, json: bytes('{}'), dueAt: 1_000_000 + minuteMs } as const;
  await record.threads.putResource(later, call());
  await sweep();
  t.deepEqual(handled.toSorted(), ids.toSorted());
  await sweep();
  t.is(handled.length, 250);
  record.pass(minuteMs);
  await sweep();
  t.is(handled.at(-1), 'later');
  t.deepEqual(logged, []);
});

test('an object whose handling fails is logged once, waits longer each time, and holds up no other', async (t) => {
  await using record = open();
  const tried: string[] = [];
  const { sweep, logged } = sweeping(record, async (resource) => {
    tried.push(resource.id);
    JSON.parse(Buffer.from(resource.json).toString('utf8').replace('"bad"', '{'));
    await settle(record, resource);
  });
  await record.put('poisoned', '"bad"');
  for (const id of ['a', 'b', 'c']) await record.put(id);
  await sweep();
  t.deepEqual(tried.toSorted(), ['a', 'b', 'c', 'poisoned']);
  const waits: number[] = [];
  for (let times = 0; times < 12; times++) {
    const { dueAt = NaN, updatedAt } = await record.get('poisoned');
    waits.push(dueAt - updatedAt);
    await sweep();
    record.pass(dueAt - updatedAt);
    await sweep();
  }
  t.deepEqual(logged, ['poisoned']);
  t.is(tried.filter((id) => id === 'poisoned').length, 13);
  t.true((waits[0] ?? 0) >= 2500 && (waits[0] ?? 0) <= 6000);
  t.true((waits[11] ?? 0) >= 300_000 && (waits[11] ?? 0) <= 601_000);
});

test('of two replicas that sweep at once each object is written on by one', async (t) => {
  await using record = open();
  for (let index = 0; index < 120; index++) await record.put(`s${String(index)}`);
  const done: string[] = [];
  const replicas = [0, 1].map(() =>
    sweeping(record, async (resource) => {
      await settle(record, resource);
      done.push(resource.id);
    }),
  );
  await Promise.all(replicas.map(({ sweep }) => sweep()));
  t.is(done.length, 120);
  t.is(new Set(done).size, 120);
  t.deepEqual(
    replicas.flatMap(({ logged }) => logged),
    [],
  );
  t.is((await record.threads.listDueResources({ kind, limit: 10 }, call())).due.length, 0);
});

test('a conflict about something else is a failure like any other', async (t) => {
  await using record = open();
  const { sweep, logged } = sweeping(record, () => Promise.reject(conflict('a run holds the thread')));
  await record.put('a');
  await sweep();
  t.deepEqual(logged, ['a']);
  t.is((await record.get('a')).version, 2);
});

test('a handling that does not end in its time is given up, and the others go on', async (t) => {
  await using record = open();
  const signals: AbortSignal[] = [];
  const { sweep, logged } = sweeping(
    record,
    async (resource, { call: { signal } }) => {
      if (resource.id !== 'hangs') return settle(record, resource);
      signals.push(signal);
      return new Promise<void>(() => undefined);
    },
    50,
  );
  for (const id of ['hangs', 'a', 'b']) await record.put(id);
  await sweep();
  t.deepEqual(logged, ['hangs']);
  t.true(signals[0]?.aborted);
  t.is((await record.get('b')).version, 2);
  t.is((await record.get('hangs')).version, 2);
});

test('a sweep that is disposed of ends what it handles, which stays due as it was', async (t) => {
  await using record = open();
  await record.put('a');
  const begun: string[] = [];
  const handle: HandleDue = ({ id }) => {
    begun.push(id);
    return new Promise<void>(() => undefined);
  };
  const logged: unknown[] = [];
  const log = { error: (fields: object): void => void logged.push(fields) };
  {
    await using _sweep = openDueSweep({ threads: record.threads, kind, handle, handleMs: minuteMs, log });
    await until(() => begun.length > 0);
  }
  t.deepEqual([begun, logged], [['a'], []]);
  t.is((await record.get('a')).version, 1);
  t.is((await record.threads.listDueResources({ kind, limit: 10 }, call())).due.length, 1);
});

test('what is due at once begins a few at a time, and other work has its turns in between', async (t) => {
  await using record = open();
  for (let index = 0; index < 60; index++) await record.put(`s${String(index)}`);
  let turn = 0;
  const turns = new Map<number, number>();
  const handle: HandleDue = async (resource) => {
    turns.set(turn, (turns.get(turn) ?? 0) + 1);
    await settle(record, resource);
  };
  const log = { error: t.fail };
  const sweep = createDueSweep({ threads: record.threads, kind, handle, handleMs: minuteMs, log, isSpread: true });
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  await sweep(never);
  isOver = true;
  t.is(
    [...turns.values()].reduce((sum, begun) => sum + begun, 0),
    60,
  );
  t.true([...turns.values()].every((begun) => begun <= 2));
});
