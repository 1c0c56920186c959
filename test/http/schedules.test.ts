import test, { type ExecutionContext } from 'ava';
import { user } from '../servers/client.ts';
import { byLoad } from '../by-load.ts';
import { until } from '../until.ts';
import { replyText, serve } from './service.ts';

const service = serve(test);
const { send, data, refused } = service;

interface Schedule {
  readonly schedule_id: string;
  readonly status: string;
  readonly version: number;
  readonly next_at?: string;
  readonly next_times: readonly string[];
  readonly pending: number;
  readonly last_runs: readonly {
    readonly outcome: string;
    readonly cause: string;
    readonly run_id?: string;
    readonly thread_id?: string;
    readonly reason?: string;
  }[];
  readonly disabled_reason?: string;
  readonly timezone?: string;
}
interface Fired {
  readonly schedule_id: string;
  readonly runs: readonly { readonly slot: string; readonly run_id: string; readonly thread_id: string }[];
}

const run = { messages: [user('hello')] };
const create = (t: ExecutionContext, body: object): Promise<Schedule> =>
  data(t, 'createSchedule', send('POST', '/v1/schedules', { run, ...body }));
const get = (t: ExecutionContext, id: string): Promise<Schedule> =>
  data(t, 'getSchedule', send('GET', `/v1/schedules/${id}`));

/** A schedule as soon as it has so many past slots. */
async function withPast(t: ExecutionContext, id: string, count: number): Promise<Schedule> {
  let schedule = await get(t, id);
  await until(async () => {
    schedule = await get(t, id);
    return schedule.last_runs.length >= count;
  });
  return schedule;
}

const resultOf = async (runId: string | undefined): Promise<string> => {
  const reply = await send('GET', `/v1/runs/${runId ?? ''}/wait`);
  const { messages } = reply.body.data as { messages: { content: { text?: string }[] }[] };
  return replyText(messages.at(-1));
};

test('a schedule shows its next ten times in its zone, and is found in the list until it is deleted', async (t) => {
  const made = await create(t, {
    name: 'mornings',
    cron: '30 8 * * MON-FRI',
    timezone: 'Europe/Berlin',
    metadata: { a: 1 },
  });
  t.like(made, {
    status: 'active',
    version: 1,
    pending: 0,
    overlap: 'skip',
    catch_up: 'one',
    thread: 'new',
    keep_threads: true,
  });
  t.is(made.next_times.length, 10);
  t.is(made.next_at, made.next_times[0]);
  for (const time of made.next_times) {
    const [day, clock] = new Date(time)
      .toLocaleString('en-GB', { timeZone: 'Europe/Berlin', weekday: 'short', hour: '2-digit', minute: '2-digit' })
      .split(' ');
    t.is(clock, '08:30');
    t.false(['Sat', 'Sun'].includes(day ?? ''));
  }
  const id = made.schedule_id;
  const { schedules }: { schedules: Schedule[] } = await data(
    t,
    'listSchedules',
    send('GET', '/v1/schedules?limit=1000'),
  );
  t.true(schedules.some(({ schedule_id }) => schedule_id === id));
  await data(t, 'deleteSchedule', send('DELETE', `/v1/schedules/${id}`));
  await refused(t, send('GET', `/v1/schedules/${id}`), 404, 'RESOURCE_NOT_FOUND');
  await refused(t, send('POST', `/v1/schedules/${id}/run`, {}), 404, 'RESOURCE_NOT_FOUND');
});

test('a run now has the ids of its reply and the input of the schedule, also while that is paused', async (t) => {
  const made = await create(t, { every_seconds: 3600, paused: true, run: { messages: [user('now')] } });
  t.is(made.status, 'paused');
  t.is(made.next_at, undefined);
  const reply = await send('POST', `/v1/schedules/${made.schedule_id}/run`, {});
  t.is(reply.status, 202);
  const fired = reply.body.data as Fired;
  const { last_runs: past } = await withPast(t, made.schedule_id, 1);
  t.like(past[0], {
    outcome: 'started',
    cause: 'manual',
    run_id: fired.runs[0]?.run_id,
    thread_id: fired.runs[0]?.thread_id,
  });
  t.is(await resultOf(fired.runs[0]?.run_id), 'you said now');
});

test('one moment is fired once, and then the schedule has ended', async (t) => {
  const at = new Date(Date.now() + byLoad(6000)).toISOString();
  const { schedule_id: id } = await create(t, { at, run: { messages: [user('once')], config: { thread_id: 'once' } } });
  const { last_runs: past, status } = await withPast(t, id, 1);
  t.is(status, 'ended');
  t.like(past[0], { outcome: 'started', cause: 'slot', slot: at, thread_id: 'once' });
  t.is(await resultOf(past[0]?.run_id), 'you said once');
  const { created_at: started } = (await send('GET', `/v1/runs/${past[0]?.run_id ?? ''}`)).body.data as {
    created_at: string;
  };
  t.true(started >= at, 'not early');
});

test('past slots are made up for in their order', async (t) => {
  const { schedule_id: id } = await create(t, { cron: '0 * * * *', overlap: 'allow' });
  const to = Date.now() - (Date.now() % 3_600_000);
  const from = to - 2 * 3_600_000;
  const reply = await send('POST', `/v1/schedules/${id}/backfill`, { from, to });
  t.is(reply.status, 202);
  const { runs } = reply.body.data as Fired;
  t.deepEqual(
    runs.map(({ slot }) => Date.parse(slot)),
    [from, from + 3_600_000, to],
  );
  const { last_runs: past } = await withPast(t, id, 3);
  t.deepEqual(
    past.map(({ run_id }) => run_id),
    runs.map(({ run_id }) => run_id).toReversed(),
  );
  await refused(t, send('POST', `/v1/schedules/${id}/backfill`, { from: 0, to }), 422, 'VALIDATION_ERROR');
  await refused(t, send('POST', `/v1/schedules/${id}/backfill`, { from, to: to + 9e9 }), 422, 'VALIDATION_ERROR');
  await refused(
    t,
    send('POST', `/v1/schedules/${id}/backfill`, { from: from + 1, to: from + 2 }),
    422,
    'VALIDATION_ERROR',
  );
});

test('what changes of a schedule changes its next times; a pause and a resume go on with what is to come', async (t) => {
  const { schedule_id: id } = await create(t, {
    cron: '0 9 * * *',
    timezone: 'Asia/Tokyo',
    ends_at: '2099-01-01T00:00:00Z',
  });
  const path = `/v1/schedules/${id}`;
  const moved: Schedule = await data(t, 'updateSchedule', send('PATCH', path, { timezone: 'UTC', overlap: 'queue' }));
  t.like(moved, { version: 2, overlap: 'queue', timezone: 'UTC', ends_at: '2099-01-01T00:00:00.000Z' });
  t.regex(moved.next_at ?? '', /T09:00:00.000Z$/);
  const other: Schedule = await data(t, 'updateSchedule', send('PATCH', path, { every_seconds: 600 }));
  t.like(other, { every_seconds: 600, overlap: 'queue' });
  t.false('ends_at' in other || 'cron' in other);
  const paused: Schedule = await data(t, 'pauseSchedule', send('POST', `${path}/pause`, {}));
  t.like(paused, { status: 'paused', next_times: [] });
  t.like(await data(t, 'pauseSchedule', send('POST', `${path}/pause`, {})), { version: paused.version });
  const resumed: Schedule = await data(t, 'resumeSchedule', send('POST', `${path}/resume`, {}));
  t.is(resumed.status, 'active');
  t.true(Date.parse(resumed.next_at ?? '') > Date.now() - 60_000);
});

test('a request that makes no sense is refused with the field that makes none', async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ cron: '61 * * * *' }, 'cron'],
    [{ cron: '* * * * * *' }, 'cron'],
    [{ cron: '0 0 30 2 *' }, 'cron'],
    [{ cron: '0 0 * * *', timezone: 'Mars/Base' }, 'timezone'],
    [{ cron: '0 0 * * *', timezone: '+05:00' }, 'timezone'],
    [{ every_seconds: 60, timezone: 'UTC' }, 'timezone'],
    [{ every_seconds: 1 }, 'every_seconds'],
    [{ at: '2020-01-01T00:00:00Z' }, 'at'],
    [{ at: 'tomorrow' }, 'at'],
    [{ every_seconds: 60, ends_at: '2020-01-01T00:00:00Z' }, 'ends_at'],
    [{ every_seconds: 60, jitter_seconds: 1e6 }, 'jitter_seconds'],
    [{ every_seconds: 60, overlap: 'never' }, 'overlap'],
    [{ every_seconds: 60, thread: 'one', overlap: 'allow' }, 'overlap'],
    [{ every_seconds: 60, thread: 'one', keep_threads: false }, 'keep_threads'],
    [{ every_seconds: 60, thread: 'new', run: { ...run, config: { thread_id: 'x' } } }, 'thread'],
    [{ every_seconds: 60, run: { ...run, resume: 1 } }, 'resume'],
    [{ every_seconds: 60, run: { ...run, config: { on_completion: 'delete' } } }, 'on_completion'],
    [{ every_seconds: 60, run: { ...run, webhook: { url: 'file:///etc/passwd' } } }, 'url'],
    [{ every_seconds: 60, run: { messages: [] } }, 'messages'],
    [{ every_seconds: 60, run: { ...run, initial_state: { no_such_field: 1 } } }, 'no_such_field'],
    [{ every_seconds: 60, run: { messages: [user('x'.repeat(62_000))] } }, 'run'],
    [{ every_seconds: 60, metadata: { a: 'x'.repeat(9000) } }, 'metadata'],
    [{ every_seconds: 60, cron: '0 0 * * *' }, 'body'],
    [{}, 'body'],
  ];
  for (const [body, field] of cases) {
    const [place] = await refused(t, send('POST', '/v1/schedules', { run, ...body }), 422, 'VALIDATION_ERROR');
    const loc = place as readonly unknown[];
    t.deepEqual([loc[0], loc.at(-1)], ['body', field], JSON.stringify(body).slice(0, 80));
  }
});

test('a delayed run with a state that its agent cannot take is refused at once; one on a thread waits for what that is then', async (t) => {
  const later = {
    ...run,
    start_at: new Date(Date.now() + 3_600_000).toISOString(),
    initial_state: { no_such_field: 1 },
  };
  const [place] = await refused(t, send('POST', '/v1/runs', later), 422, 'VALIDATION_ERROR');
  t.deepEqual(place, ['body', 'initial_state', 'no_such_field']);
  const onThread = await send('POST', '/v1/runs', { ...later, config: { thread_id: 'of-whatever-agent' } });
  t.is(onThread.status, 202);
});

test('a repeated request makes one schedule, and one run', async (t) => {
  const key = { 'idempotency-key': 'made-once' };
  const body = { every_seconds: 3600, run };
  const [one, two] = [await send('POST', '/v1/schedules', body, key), await send('POST', '/v1/schedules', body, key)];
  const { schedule_id: id } = one.body.data as Schedule;
  t.is((two.body.data as Schedule).schedule_id, id);
  const again = { 'idempotency-key': 'run-once' };
  const [first, second] = [
    await send('POST', `/v1/schedules/${id}/run`, {}, again),
    await send('POST', `/v1/schedules/${id}/run`, {}, again),
  ];
  t.deepEqual((first.body.data as Fired).runs, (second.body.data as Fired).runs);
  const { last_runs: past, pending } = await withPast(t, id, 1);
  t.is(past.length + pending, 1);
});

test('a delayed run is scheduled, holds no thread, starts at its time with the ids of its reply', async (t) => {
  const start_at = new Date(Date.now() + byLoad(6000)).toISOString();
  const reply = await send('POST', '/v1/runs', { messages: [user('later')], start_at });
  t.is(reply.status, 202);
  const { run_id: id, thread_id: thread } = reply.body.data as { run_id: string; thread_id: string };
  t.like(reply.body.data, { status: 'scheduled', start_at });
  t.like(await data(t, 'getRun', send('GET', `/v1/runs/${id}`)), {
    run_id: id,
    thread_id: thread,
    status: 'scheduled',
    start_at,
  });
  await refused(t, send('GET', `/v1/runs/${id}/wait`), 409, 'CONFLICT');
  await refused(t, send('GET', `/v1/threads/${thread}`), 404, 'RESOURCE_NOT_FOUND');
  await until(
    async () => ((await send('GET', `/v1/runs/${id}`)).body.data as { status: string }).status !== 'scheduled',
  );
  t.is(await resultOf(id), 'you said later');
  t.like(await data(t, 'getRun', send('GET', `/v1/runs/${id}`)), {
    run_id: id,
    thread_id: thread,
    status: 'completed',
  });
  await until(async () => (await send('GET', `/v1/schedules/${id}`)).status === 404);
});

test('a delayed run that is cancelled does not start, and one whose time is past starts at once', async (t) => {
  const start_at = new Date(Date.now() + 3_600_000).toISOString();
  const { run_id: id } = (await send('POST', '/v1/runs', { messages: [user('never')], start_at })).body.data as {
    run_id: string;
  };
  t.like((await send('POST', `/v1/runs/${id}/cancel`, {})).body.data, { success: true, run_id: id, status: 'stopped' });
  await refused(t, send('GET', `/v1/runs/${id}`), 404, 'RESOURCE_NOT_FOUND');
  await refused(t, send('POST', `/v1/runs/${id}/cancel`, {}), 404, 'RESOURCE_NOT_FOUND');
  const past = await send('POST', '/v1/runs', { messages: [user('now')], start_at: 1 });
  t.is(past.status, 202);
  t.is(await resultOf((past.body.data as { run_id: string }).run_id), 'you said now');
  await refused(t, send('POST', '/v1/runs', { messages: [user('x')], start_at: 'soon' }), 422, 'VALIDATION_ERROR');
});

test('a delayed run does not change: what would keep it from starting is refused', async (t) => {
  const start_at = new Date(Date.now() + 3_600_000).toISOString();
  const { run_id: id } = (await send('POST', '/v1/runs', { messages: [user('later')], start_at })).body.data as {
    run_id: string;
  };
  for (const change of ['pause', 'resume', 'run'])
    await refused(t, send('POST', `/v1/schedules/${id}/${change}`), 409, 'CONFLICT');
  await refused(t, send('POST', `/v1/runs/${id}/retry`), 409, 'CONFLICT');
  await refused(t, send('POST', `/v1/runs/${id}/ticket`), 409, 'CONFLICT');
  t.like(await get(t, id), { status: 'active', next_at: start_at });
  t.is((await send('POST', `/v1/runs/${id}/cancel`, {})).status, 200);
});

test('a delayed run that could not be started stays failed, and every request about it says why', async (t) => {
  const config = { thread_id: 'of-whatever-agent-then' };
  const body = { messages: [user('late')], config, initial_state: { rounds: 'many' } };
  const start_at = new Date(Date.now() + byLoad(2000)).toISOString();
  const { run_id: id } = (await send('POST', '/v1/runs', { ...body, start_at })).body.data as { run_id: string };
  await until(async () => ((await send('GET', `/v1/runs/${id}`)).body.data as { status: string }).status === 'failed');
  for (const [method, part] of [
    ['GET', 'wait'],
    ['GET', 'stream'],
    ['POST', 'retry'],
  ] as const) {
    const reply = await send(method, `/v1/runs/${id}/${part}`);
    t.is(reply.status, 409, part);
    t.regex(JSON.stringify(reply.body), /could not be started: .*rounds/, part);
  }
  const cancelled = await send('POST', `/v1/runs/${id}/cancel`, {});
  t.like(cancelled.body.data, { success: false, run_id: id, status: 'failed' });
  const error = { code: 'VALIDATION_ERROR' };
  t.like(await data(t, 'getRun', send('GET', `/v1/runs/${id}`)), { status: 'failed', start_at, error });
});

test('a delayed run that is asked for again with its key after its time is the same run', async (t) => {
  const key = { 'idempotency-key': 'delayed-once' };
  const body = { messages: [user('once, later')], start_at: new Date(Date.now() + byLoad(3000)).toISOString() };
  const post = async (): Promise<Fired['runs'][number]> => {
    const { status, body: reply } = await send('POST', '/v1/runs', body, key);
    t.is(status, 202, JSON.stringify(reply));
    return reply.data;
  };
  const first = await post();
  await until(async () => (await send('GET', `/v1/schedules/${first.run_id}`)).status === 404);
  t.is(await resultOf(first.run_id), 'you said once, later');
  t.deepEqual(await post(), first);
  const { runs }: { runs: unknown[] } = await data(t, 'listRuns', send('GET', `/v1/threads/${first.thread_id}/runs`));
  t.is(runs.length, 1);
});

test('a delayed run that is asked for again with its key is the same, and after its cancellation gone', async (t) => {
  const key = { 'idempotency-key': 'cancelled-once' };
  const body = { messages: [user('never')], start_at: new Date(Date.now() + 3_600_000).toISOString() };
  const { data: first } = (await send('POST', '/v1/runs', body, key)).body;
  t.deepEqual((await send('POST', '/v1/runs', body, key)).body.data, first);
  const { run_id: id } = first as { run_id: string };
  t.is((await send('POST', `/v1/runs/${id}/cancel`, {})).status, 200);
  await refused(t, send('POST', '/v1/runs', body, key), 404, 'RESOURCE_NOT_FOUND');
  await refused(t, send('GET', `/v1/runs/${id}`), 404, 'RESOURCE_NOT_FOUND');
});

test('runs of a batch start at the time of each', async (t) => {
  const start_at = new Date(Date.now() + byLoad(3000)).toISOString();
  const asked = [
    { messages: [user('at once')] },
    { messages: [user('in a batch')], start_at },
    { messages: [user('x')], start_at: 'soon' },
    { messages: [user('x')], start_at, config: { on_completion: 'delete', thread_id: 'named' } },
  ];
  const { status, body } = await send('POST', '/v1/runs/batch', { runs: asked });
  t.is(status, 202);
  const { runs } = body.data as {
    runs: { run_id: string; status: string; start_at?: string; error?: { details: { loc: unknown }[] } }[];
  };
  t.like(runs[1], { status: 'scheduled', start_at });
  t.not(runs[0]?.status, 'scheduled');
  t.deepEqual(
    runs.slice(2).map(({ error }) => error?.details[0]?.loc),
    [
      ['body', 'runs', 2, 'start_at'],
      ['body', 'runs', 3, 'config', 'on_completion'],
    ],
  );
  await until(
    async () =>
      ((await send('GET', `/v1/runs/${runs[1]?.run_id ?? ''}`)).body.data as { status: string }).status !== 'scheduled',
  );
  t.is(await resultOf(runs[1]?.run_id), 'you said in a batch');
});
