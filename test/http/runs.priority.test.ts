import test from 'ava';
import { user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { until } from '../until.ts';
import { codeOf, serve } from './service.ts';
import { embeddedOnly } from './shape.ts';

/** One run at a time. */
const service = serve(test, 'gated', { RUN_CONCURRENCY: '1' });

interface Step {
  readonly started_at: string;
}
interface Accepted {
  readonly run_id: string;
  readonly thread_id: string;
}

const closed = { gate: 'http://127.0.0.1:1' };
const start = async (text: string, body: object = {}): Promise<Accepted> => {
  const reply = await service.send('POST', '/v1/runs', { messages: [user(text)], config: closed, ...body });
  if (reply.status !== 202) throw new Error(JSON.stringify(reply.body));
  return reply.body.data;
};

const beganAt = async ({ run_id: id }: Accepted): Promise<number> => {
  await service.send('GET', `/v1/runs/${id}/wait`);
  const { body } = await service.send('GET', `/v1/runs/${id}/steps`);
  const [first] = (body.data as { steps: readonly Step[] }).steps;
  return Date.parse(first?.started_at ?? '');
};

embeddedOnly(
  test.serial,
  'of the waiting runs of an owner the one with the highest priority begins first',
  async (t) => {
    await using gate = await openGate();
    const config = { gate: gate.url };
    await start('holds the one slot', { config });
    await gate.visited(1);
    const waiting = [];
    for (const priority of [0, 1, 9, 5]) waiting.push(await start('waits', { config, priority }));
    gate.open();
    const began = await Promise.all(waiting.map(beganAt));
    const order = began.map((at, index) => ({ at, index })).toSorted((one, other) => one.at - other.at);
    t.deepEqual(
      order.map(({ index }) => index),
      [2, 3, 1, 0],
    );
  },
);

embeddedOnly(test.serial, 'runs of one thread keep their order, whatever their priorities', async (t) => {
  await using gate = await openGate();
  const config = { gate: gate.url };
  await start('holds the one slot', { config });
  await gate.visited(1);
  const runs = [];
  for (const priority of [0, 9])
    runs.push(await start('turn', { config: { ...config, thread_id: 'ordered' }, priority }));
  gate.open();
  const [first = 0, second = 0] = await Promise.all(runs.map(beganAt));
  t.true(first < second);
});

test.serial('a run shows its priority, and one of 0 shows none', async (t) => {
  const [urgent, usual] = [await start('hello', { priority: 7 }), await start('hello', { priority: 0 })];
  const of = async ({ run_id: id }: Accepted): Promise<object> =>
    service.data(t, 'getRun', service.send('GET', `/v1/runs/${id}`));
  t.like(await of(urgent), { priority: 7 });
  t.false('priority' in (await of(usual)));
});

test.serial('a priority that is none of 0 to 9 is refused, and names the field', async (t) => {
  for (const priority of [-1, 10, 1.5, '1', true]) {
    const reply = service.send('POST', '/v1/runs', { messages: [user('hello')], priority });
    t.deepEqual(await service.refused(t, reply, 422, codeOf(422)), [['body', 'priority']]);
  }
});

test.serial('a batch gives each of its runs a priority, and a schedule keeps one', async (t) => {
  const batch = { runs: [3, 4].map((priority) => ({ messages: [user('hello')], priority })) };
  const { body } = await service.send('POST', '/v1/runs/batch', batch);
  for (const [index, { run_id: id }] of (body.data as { runs: readonly Accepted[] }).runs.entries()) {
    const reply = await service.send('GET', `/v1/runs/${id}`);
    t.like(reply.body.data, { priority: index + 3 });
  }
  const schedule = { at: '2099-01-01T00:00:00Z', run: { messages: [user('hello')], priority: 6 } };
  const made = await service.send('POST', '/v1/schedules', schedule);
  t.is(made.status, 200, JSON.stringify(made.body));
  const { schedule_id: id } = made.body.data as { schedule_id: string };
  const fired = await service.send('POST', `/v1/schedules/${id}/run`, {});
  const [slot] = (fired.body.data as { runs: readonly Accepted[] }).runs;
  const run = async () => service.send('GET', `/v1/runs/${slot?.run_id ?? ''}`);
  await until(async () => (await run()).status === 200);
  t.like((await run()).body.data, { priority: 6 });
});
