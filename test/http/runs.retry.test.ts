import test, { type ExecutionContext } from 'ava';
import { after, before, items } from '../agents/dear.ts';
import { openReceiver } from '../contract/webhook-receiver.ts';
import { user } from '../servers/client.ts';
import { openShop, type Account, type Shop } from '../servers/shop.ts';
import { until } from '../until.ts';
import { serve } from './service.ts';

const service = serve(test, 'dear', { WEBHOOK_NETWORKS: '127.0.0.0/8' });

let shop: Shop | undefined;
test.before(async () => {
  shop = await openShop();
});
test.after.always(() => shop?.[Symbol.asyncDispose]());

interface Run {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: string;
  readonly resumes?: string;
}

/** A thread on which runs pay at the shop. */
class Thread {
  readonly id: string;
  readonly account: Account;

  constructor(id: string) {
    this.id = id;
    if (!shop) throw new Error('the shop is not open');
    this.account = shop.account(id);
  }

  /** Resolves with the id of a run once it has ended, and the status of its result. */
  async run(body: object = { messages: [user('go')] }, config: object = {}): Promise<[runId: string, status: number]> {
    const given = { thread_id: this.id, shop: shop?.urlOf(this.id), ...config };
    const { body: accepted } = await service.send('POST', '/v1/runs', { ...body, config: given });
    return this.ended((accepted.data as Run).run_id);
  }

  async retry(t: ExecutionContext, runId: string): Promise<[runId: string, status: number]> {
    const { status, body } = await service.send('POST', `/v1/runs/${runId}/retry`);
    t.is(status, 202, JSON.stringify(body));
    const run = body.data as Run;
    t.is(run.thread_id, this.id);
    return this.ended(run.run_id);
  }

  private async ended(runId: string): Promise<[runId: string, status: number]> {
    const { status } = await service.send('GET', `/v1/runs/${runId}/wait`);
    return [runId, status];
  }
}

const refusedBecause = async (t: ExecutionContext, runId: string, why: RegExp): Promise<void> => {
  const reply = service.send('POST', `/v1/runs/${runId}/retry`);
  await service.refused(t, reply, 409, 'CONFLICT');
  t.regex(JSON.stringify((await reply).body), why);
};

test('what was paid before a run failed behind an approval, in the midst of branches, is not paid by the run that tries it again', async (t) => {
  const thread = new Thread('dear');
  const { account } = thread;
  account.refused.add('item-3');
  await thread.run(undefined, { asks: true });
  const [failed, status] = await thread.run({ messages: [], resume: true }, { asks: true });
  t.is(status, 500);
  const beside = ['beside', 'once', ...items.slice(0, 4)];
  t.deepEqual(account.paid.toSorted(), [...before, ...beside].toSorted());
  const again = await thread.retry(t, failed);
  t.is(again[1], 500);
  account.refused.clear();
  const [runId, lastStatus] = await thread.retry(t, again[0]);
  t.is(lastStatus, 200);
  t.deepEqual(account.paid.slice(before.length + beside.length), ['item-3', 'item-3', 'item-4', 'item-5', ...after]);
  t.true([...account.keys.values()].every(({ size }) => size === 1));
  const run = (await service.data(t, 'getRun', service.send('GET', `/v1/runs/${runId}`))) as Run;
  t.like(run, { status: 'completed', resumes: again[0] });
  t.is(((await service.send('GET', `/v1/runs/${failed}`)).body.data as Run).status, 'failed');
  const { state } = (await service.data(t, 'getState', service.send('GET', '/v1/threads/dear/state'))) as {
    state: { readonly paid: readonly string[] };
  };
  t.deepEqual(state.paid.toSorted(), [...before, 'beside', ...items, ...after].toSorted());
  const events = await (await fetch(`${service.url()}/v1/runs/${runId}/stream`)).text();
  t.regex(events, /"node":"work"/);
  t.notRegex(events, /"node":"seven"/);
});

test('a run is tried again once, however often the request is sent under its key', async (t) => {
  const thread = new Thread('once');
  thread.account.refused.add('two');
  const [failed] = await thread.run();
  thread.account.refused.clear();
  const replies = await Promise.all(
    Array.from({ length: 3 }, () =>
      service.send('POST', `/v1/runs/${failed}/retry`, {}, { 'idempotency-key': 'retry-of-once' }),
    ),
  );
  t.deepEqual([...new Set(replies.map(({ status }) => status))], [202]);
  const ids = new Set(replies.map(({ body }) => (body.data as Run).run_id));
  t.is(ids.size, 1);
  for (const id of ids) t.is((await service.send('GET', `/v1/runs/${id}/wait`)).status, 200);
  t.is(thread.account.paid.filter((what) => what === 'one').length, 1);
});

test('of two requests that try a run again at once, one is accepted', async (t) => {
  const thread = new Thread('two-at-once');
  thread.account.refused.add('one');
  const [failed] = await thread.run();
  thread.account.refused.clear();
  const retry = (): ReturnType<typeof service.send> => service.send('POST', `/v1/runs/${failed}/retry`);
  const replies = await Promise.all([retry(), retry()]);
  t.deepEqual(replies.map(({ status }) => status).toSorted(), [202, 409]);
});

test('a run is not tried again after its thread has moved on, and the refusal says why', async (t) => {
  const thread = new Thread('moved');
  thread.account.refused.add('two');
  const [first] = await thread.run();
  const [second] = await thread.run();
  await refusedBecause(t, first, /has a later run/);
  const written = await service.send('POST', '/v1/threads/moved/state', { config: {}, state: { paid: ['by hand'] } });
  t.is(written.status, 200);
  await refusedBecause(t, second, /was changed since/);
  thread.account.refused.clear();
  const [completed] = await thread.run();
  await refusedBecause(t, completed, /is completed: only a failed run can be tried again/);
  const [asking] = await thread.run(undefined, { asks: true });
  await refusedBecause(t, asking, /is interrupted: only a failed run can be tried again/);
  await service.refused(t, service.send('POST', '/v1/runs/absent/retry'), 404, 'RESOURCE_NOT_FOUND');
});

test('the webhook of a run gets the end of the run that tries it again, too', async (t) => {
  await using receiver = await openReceiver();
  const thread = new Thread('awaited');
  thread.account.refused.add('two');
  const [failed] = await thread.run({ messages: [user('go')], webhook: { url: receiver.url } });
  thread.account.refused.clear();
  const [again, status] = await thread.retry(t, failed);
  t.is(status, 200);
  await until(() => receiver.got.length === 2);
  const ends = receiver.got.map(({ body }) => JSON.parse(body) as { type: string; data: { run_id: string } });
  t.deepEqual(ends.map(({ type, data }) => [type, data.run_id]).toSorted(), [
    ['run.completed', again],
    ['run.failed', failed],
  ]);
});
