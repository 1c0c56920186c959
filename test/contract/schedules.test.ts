import test from 'ava';
import { createFireDue } from '@agent-workflow/gateway/schedules/fire';
import {
  dueAtOf,
  fromScheduleJson,
  toScheduleJson,
  withNext,
  type PendingSlot,
  type Schedule,
  type ScheduleSpec,
} from '@agent-workflow/gateway/schedules/schedule';
import { conflict, invalid, unavailable } from '@agent-workflow/kit/errors';
import { never } from '@agent-workflow/protos/call';
import type { RunStatus } from '@agent-workflow/protos/lists';
import type { Threads } from '@agent-workflow/protos/threads';
import { createDueSweep } from '@agent-workflow/runtime/due-sweep';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { accept, call, claim, commit, completed, owner } from './thread-calls.ts';

const start = Date.parse('2026-03-02T12:00:00Z');
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const kind = 'schedule';

const every = (ms: number): ScheduleSpec => ({
  timing: { everyMs: ms, anchor: start },
  ...{ jitterMs: 0, overlap: 'skip', catchUp: 'one', catchUpMs: hourMs, thread: 'new', keepThreads: true },
});

/** The record in memory with a clock of its own, and gateways that sweep its schedules. */
class Fixture implements AsyncDisposable {
  clock = start;
  readonly store = openSqliteThreadStore({ path: ':memory:' });
  readonly threads: Threads = createThreads({ store: this.store, now: () => this.clock });
  /** The slots whose runs were accepted, in order, and the time of the record at each. */
  readonly accepted: {
    readonly slot: number;
    readonly at: number;
    readonly runId: string;
    readonly threadId: string;
  }[] = [];
  readonly stopped: string[] = [];
  readonly removed: string[] = [];
  mayStart: () => Promise<boolean> = () => Promise.resolve(true);
  before: (slot: PendingSlot) => void = () => undefined;

  async put(id: string, spec: ScheduleSpec, parts: Partial<Schedule> = {}): Promise<void> {
    const schedule = withNext(
      { spec, run: {}, paused: false, pending: [], past: [], unkept: [], ...parts },
      this.clock,
    );
    const dueAt = dueAtOf(id, schedule);
    const json = toScheduleJson(schedule);
    await this.threads.putResource(
      { kind, owner, id, version: 1, json, ...(dueAt !== undefined && { dueAt }) },
      call(),
    );
  }

  async get(id: string): Promise<Schedule> {
    return fromScheduleJson((await this.threads.getResource({ kind, owner, id }, call())).json);
  }

  async change(id: string, decide: (schedule: Schedule) => Schedule): Promise<void> {
    const { version } = await this.threads.getResource({ kind, owner, id }, call());
    const schedule = decide(await this.get(id));
    const dueAt = dueAtOf(id, schedule);
    const json = toScheduleJson(schedule);
    const due = dueAt === undefined ? {} : { dueAt };
    await this.threads.putResource({ kind, owner, id, version: version + 1, json, ...due }, call());
  }

  /** One gateway; `threads` is how it reaches the record. */
  sweeper(threads: Threads = this.threads): () => Promise<void> {
    const handle = createFireDue({
      threads,
      execution: {
        stopRun: async ({ runId }) => {
          this.stopped.push(runId);
          await this.end(runId);
          return { status: 'stopped', stoppedNow: true };
        },
        deleteThread: ({ threadId }) => {
          this.removed.push(threadId);
          return Promise.resolve({});
        },
      },
      mayStart: () => this.mayStart(),
      start: async (run) => {
        this.before(run);
        const { runId, threadId, slot } = run;
        await accept(threads, runId, { threadId, runIdIsNew: false, threadIdIsNew: false });
        if (this.accepted.every((known) => known.runId !== runId))
          this.accepted.push({ slot, at: this.clock, runId, threadId });
      },
    });
    const sweep = createDueSweep({ threads, kind, handle, handleMs: minuteMs, log: { error: () => undefined } });
    return () => sweep(never);
  }

  async status(runId: string): Promise<RunStatus> {
    return (await this.threads.getRun({ owner, runId }, call())).status;
  }

  async end(runId: string): Promise<void> {
    const { threadId } = await this.threads.getRun({ owner, runId }, call());
    const { epoch } = await claim(this.threads, runId, { threadId });
    await commit(this.threads, runId, epoch, { threadId, end: completed, at: this.clock });
  }

  /** How many runs are on record. */
  async runs(): Promise<number> {
    let count = 0;
    for (let cursor: string | undefined; ;) {
      const page = await this.threads.listOwnRuns(
        { owner, limit: 1000, statuses: [], ...(cursor !== undefined && { cursor }) },
        call(),
      );
      count += page.runs.length;
      cursor = page.cursor;
      if (cursor === undefined) return count;
    }
  }

  slots(): number[] {
    return this.accepted.map(({ slot }) => (slot - start) / minuteMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.store[Symbol.asyncDispose]());
  }
}

test('each slot is fired once when its time has come, none before', async (t) => {
  await using on = new Fixture();
  await on.put('s', { ...every(10 * minuteMs), overlap: 'allow' });
  const sweep = on.sweeper();
  await sweep();
  t.deepEqual(on.slots(), []);
  for (let passed = 0; passed < 60; passed++) {
    on.clock += minuteMs;
    await sweep();
    await sweep();
  }
  t.deepEqual(on.slots(), [10, 20, 30, 40, 50, 60]);
  t.true(on.accepted.every(({ slot, at }) => at >= slot));
  const { past, next } = await on.get('s');
  t.is(next, start + 70 * minuteMs);
  t.is(past.length, 6);
  t.like(past[0], { outcome: 'started', slot: start + 60 * minuteMs, runId: on.accepted.at(-1)?.runId ?? '' });
});

test('a slot that is due while the run before it goes on is left out, waits, or ends that run', async (t) => {
  await using on = new Fixture();
  await on.put('skip', { ...every(10 * minuteMs), overlap: 'skip' });
  const sweep = on.sweeper();
  const pass = async (minutes: number): Promise<void> => {
    for (let passed = 0; passed < minutes; passed++) {
      on.clock += minuteMs;
      await sweep();
    }
  };
  await pass(20);
  t.deepEqual(on.slots(), [10]);
  t.like((await on.get('skip')).past[0], { outcome: 'skipped', slot: start + 20 * minuteMs });
  await on.end(on.accepted[0]?.runId ?? '');
  await pass(10);
  t.deepEqual(on.slots(), [10, 30]);

  for (const overlap of ['queue', 'cancel_other'] as const) {
    on.accepted.splice(0);
    const from = on.clock;
    await on.put(overlap, { ...every(10 * minuteMs), overlap, timing: { everyMs: 10 * minuteMs, anchor: from } });
    await on.change('skip', ({ next: _, ...rest }) => ({ ...rest, paused: true }));
    await pass(20);
    const minutes = (): number[] => on.accepted.map(({ slot }) => (slot - from) / minuteMs);
    if (overlap === 'cancel_other') {
      t.deepEqual(minutes(), [10, 20]);
      t.deepEqual(on.stopped, [on.accepted[0]?.runId]);
      continue;
    }
    t.deepEqual(minutes(), [10]);
    t.is((await on.get(overlap)).pending.length, 1);
    await on.end(on.accepted[0]?.runId ?? '');
    await pass(3);
    t.deepEqual(minutes(), [10, 20]);
    await on.change(overlap, ({ next: _, ...rest }) => ({ ...rest, paused: true }));
  }
});

test('slots that were missed are left out, made up for by the newest, or all fired in their order', async (t) => {
  for (const [catchUp, expected] of [
    ['none', [180]],
    ['one', [170, 180]],
    ['all', [120, 130, 140, 150, 160, 170, 180]],
  ] as const) {
    await using on = new Fixture();
    await on.put('s', { ...every(10 * minuteMs), catchUp, catchUpMs: hourMs + minuteMs, overlap: 'allow' });
    on.clock += 3 * hourMs;
    const sweep = on.sweeper();
    await sweep();
    t.deepEqual(on.slots(), [...expected], catchUp);
    const { past } = await on.get('s');
    t.is(past.filter(({ outcome }) => outcome === 'missed').length, 1);
    await sweep();
    t.is(on.accepted.length, expected.length);
  }
});

test('a year without a gateway makes neither many slots nor a long loop', async (t) => {
  await using on = new Fixture();
  await on.put('one', { ...every(10_000), overlap: 'allow' });
  await on.put('all', { ...every(10_000), catchUp: 'all', catchUpMs: 7 * 24 * hourMs, overlap: 'allow' });
  on.clock += 365 * 24 * hourMs;
  await on.sweeper()();
  t.true((await on.get('all')).pending.length <= 100);
  t.true(on.accepted.length <= 20);
});

test('while the authorization backend is unavailable a slot waits; a denial disables the schedule and says so', async (t) => {
  await using on = new Fixture();
  await on.put('s', every(10 * minuteMs));
  const sweep = on.sweeper();
  on.clock += 10 * minuteMs;
  on.mayStart = () => Promise.reject(unavailable('the backend does not answer'));
  await sweep();
  on.clock += minuteMs;
  await sweep();
  t.deepEqual(on.slots(), []);
  t.is((await on.get('s')).disabled, undefined);
  on.mayStart = () => Promise.resolve(true);
  on.clock += minuteMs;
  await sweep();
  t.deepEqual(on.slots(), [10]);
  await on.end(on.accepted[0]?.runId ?? '');
  on.mayStart = () => Promise.resolve(false);
  on.clock += 10 * minuteMs;
  await sweep();
  t.deepEqual(on.slots(), [10]);
  const { disabled, next, past } = await on.get('s');
  t.regex(disabled?.reason ?? '', /does not allow/);
  t.is(next, undefined);
  t.like(past[0], { outcome: 'refused', slot: start + 20 * minuteMs });
  on.clock += hourMs;
  await sweep();
  t.deepEqual(on.slots(), [10]);
});

test('a slot whose run was accepted before a denial counts as fired', async (t) => {
  await using on = new Fixture();
  await on.put('s', every(10 * minuteMs));
  on.clock += 10 * minuteMs;
  let writes = 0;
  const dying: Threads = {
    ...on.threads,
    putResource: (request, at) =>
      ++writes === 1 ? on.threads.putResource(request, at) : Promise.reject(unavailable('killed')),
  };
  await on.sweeper(dying)();
  t.is(on.accepted.length, 1);
  on.mayStart = () => Promise.resolve(false);
  await on.sweeper()();
  t.like((await on.get('s')).past, [{ outcome: 'started' }]);
});

test('what another attempt would meet again is noted with its slot, and the next one is fired', async (t) => {
  await using on = new Fixture();
  await on.put('s', every(10 * minuteMs));
  on.before = ({ slot }) => {
    if (slot === start + 10 * minuteMs) throw invalid(['messages'], 'must have an agent that is there');
    if (slot === start + 20 * minuteMs) throw conflict('ä'.repeat(500));
  };
  const sweep = on.sweeper();
  for (let passed = 0; passed < 3; passed++) {
    on.clock += 10 * minuteMs;
    await sweep();
  }
  t.deepEqual(on.slots(), [30]);
  const { past } = await on.get('s');
  t.deepEqual(
    past.map(({ outcome }) => outcome),
    ['started', 'refused', 'refused'],
  );
  t.regex(past[2]?.reason ?? '', /must have an agent/);
  t.true(Buffer.byteLength(past[1]?.reason ?? '') < 300);
  t.true((past[1]?.reason ?? '').isWellFormed());
});

test('a schedule that cannot be fired holds up no other', async (t) => {
  await using on = new Fixture();
  for (let index = 0; index < 20; index++) await on.put(`s${String(index)}`, every(10 * minuteMs));
  await on.threads.putResource({ kind, owner, id: 'broken', version: 1, json: Buffer.from('1'), dueAt: start }, call());
  on.clock += 10 * minuteMs;
  await on.sweeper()();
  t.is(on.accepted.length, 20);
});

test('threads that are not kept go some minutes after their run has ended, and stay where it asks something', async (t) => {
  await using on = new Fixture();
  await on.put('s', { ...every(60 * minuteMs), keepThreads: false });
  const sweep = on.sweeper();
  on.clock += hourMs;
  await sweep();
  const [first] = on.accepted;
  for (let passed = 0; passed < 20; passed++) {
    on.clock += minuteMs;
    await sweep();
  }
  t.deepEqual(on.removed, [], 'its run goes on');
  await on.end(first?.runId ?? '');
  on.clock += 6 * minuteMs;
  await sweep();
  t.deepEqual(on.removed, [first?.threadId]);
  t.deepEqual((await on.get('s')).unkept, []);
});

test('a schedule that was deleted goes after the threads that it does not keep', async (t) => {
  await using on = new Fixture();
  await on.put('s', { ...every(60 * minuteMs), keepThreads: false });
  const sweep = on.sweeper();
  on.clock += hourMs;
  await sweep();
  await on.change('s', ({ next: _, ...rest }) => ({ ...rest, pending: [], deleted: true }));
  await sweep();
  await on.end(on.accepted[0]?.runId ?? '');
  on.clock += 10 * minuteMs;
  await sweep();
  t.is(on.removed.length, 1);
  await t.throwsAsync(on.get('s'), { message: /does not exist/ });
});

test('a delayed run has the id of its schedule, which goes once the run is accepted', async (t) => {
  await using on = new Fixture();
  await on.put('delayed', { ...every(1), timing: { at: start + 5000 } }, { delayed: true });
  const sweep = on.sweeper();
  on.clock += 4999;
  await sweep();
  t.is(on.accepted.length, 0);
  // Nothing was up for a month.
  on.clock += 30 * 24 * hourMs;
  await sweep();
  t.like(on.accepted, [{ runId: 'delayed' }]);
  await t.throwsAsync(on.get('delayed'), { message: /does not exist/ });
});

/** A number from a seed, so that a campaign that fails can be played again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('a thousand schedules over three gateways that die anywhere: each slot once, none early', async (t) => {
  await using on = new Fixture();
  const schedules = 1000;
  for (let index = 0; index < schedules; index++)
    await on.put(`s${String(index)}`, {
      ...every((5 + (index % 7)) * minuteMs),
      ...{ overlap: 'allow', catchUp: 'all', catchUpMs: 24 * hourMs, jitterMs: index % 2 === 0 ? 0 : minuteMs },
    });
  const random = seeded(36);
  /** A gateway whose calls fail, before they have an effect or after it. */
  const dying = (): Threads => {
    const fail =
      <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>, share: number) =>
      async (...args: A): Promise<R> => {
        const fate = random();
        if (fate < share) throw unavailable('killed before it');
        const reply = await work(...args);
        if (fate < 2 * share) throw unavailable('killed after it');
        return reply;
      };
    return {
      ...on.threads,
      putResource: fail(on.threads.putResource, 0.05),
      acceptRun: fail(on.threads.acceptRun, 0.05),
      getResource: fail(on.threads.getResource, 0.01),
    };
  };
  const minutes = 30;
  for (let passed = 0; passed < minutes; passed++) {
    on.clock += minuteMs;
    await Promise.all(
      [1, 2, 3].map(() =>
        on
          .sweeper(dying())()
          .catch(() => undefined),
      ),
    );
  }
  // Whatever waits after a failure is fired now.
  for (let passed = 0; passed < 12; passed++) {
    on.clock += 10_000;
    await on.sweeper()();
  }
  const until = on.clock;
  const runs = await on.runs();
  t.is(runs, on.accepted.length, 'doubled: a slot has two runs');
  t.true(
    on.accepted.every(({ slot, at }) => at >= slot),
    'early',
  );
  let due = 0;
  let listed = 0;
  for (let index = 0; index < schedules; index++) {
    const { next, past, pending, firing } = await on.get(`s${String(index)}`);
    t.deepEqual([pending.length, firing], [0, undefined]);
    t.true((next ?? 0) > until - minuteMs);
    const everyMs = (5 + (index % 7)) * minuteMs;
    due += ((next ?? 0) - start) / everyMs - 1;
    listed += past.filter(({ outcome }) => outcome === 'started').length;
  }
  t.is(on.accepted.length, due, 'lost: a slot has no run');
  t.is(listed, due);
});
