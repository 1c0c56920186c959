import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { until } from '../../until.ts';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test, {}, { configured: agentAt('configured') });
const daily = { schedule: '0 9 * * *', input: { messages: [{ role: 'user', content: 'daily' }] } };

interface Cron {
  readonly cron_id: string;
  readonly [name: string]: unknown;
}

const made = async (body: object, path = '/runs/crons'): Promise<Cron> =>
  (await service.send('POST', path, { assistant_id: graphId, ...daily, ...body })).body as Cron;

const patched = async (cronId: string, body: object): Promise<Cron> =>
  (await service.send('PATCH', `/runs/crons/${cronId}`, body)).body as Cron;

/** Fires a cron. @returns the thread of its run, once that is on record */
async function fired({ cron_id: id }: Cron): Promise<string> {
  const url = service.url().replace('/langgraph', `/v1/schedules/${id}/run`);
  const { data } = (await (await fetch(url, { method: 'POST' })).json()) as {
    readonly data: { readonly runs: readonly [{ readonly run_id: string; readonly thread_id: string }] };
  };
  const [{ run_id: run, thread_id: thread }] = data.runs;
  await until(async () => (await service.send('GET', `/threads/${thread}/runs/${run}`)).status === 200);
  return thread;
}

test('the end of a cron is taken back by null, and stays where a change does not name it', async (t) => {
  const { cron_id: id } = await made({ end_time: '2100-01-01T00:00:00Z' });
  t.like(await patched(id, { timezone: 'UTC' }), { end_time: '2100-01-01T00:00:00.000+00:00' });
  const ended = await patched(id, { end_time: null });
  t.like(ended, { end_time: null, timezone: 'UTC' });
  t.false(Object.hasOwn(ended['payload'] as object, 'end_time'));
  t.like(await made({ end_time: null }), { end_time: null });
});

test('a change of the metadata of a cron is merged into it', async (t) => {
  const { cron_id: id } = await made({ metadata: { a: 1, b: 1 } });
  const changed = await patched(id, { metadata: { b: 2, c: 2 } });
  const metadata = { a: 1, b: 2, c: 2 };
  t.like(changed, { metadata, payload: { metadata, input: daily.input } });
  t.deepEqual((await patched(id, { enabled: false }))['metadata'], metadata);
});

test('what a cron was sent is shown by it and by its runs, and takes effect', async (t) => {
  const { threads, runs } = service.client();
  const { thread_id: threadId } = await threads.create();
  const given = {
    input: { messages: [{ role: 'user', content: 'tick' }] },
    metadata: { of: 'the clock' },
    config: { configurable: { tone: 'dry' }, tags: ['daily'], recursion_limit: 9 },
    context: { colour: 'blue' },
    interrupt_before: ['configured'],
    webhook: 'https://hooks.invalid/x',
    stream_mode: ['updates'],
    multitask_strategy: 'interrupt',
  };
  const body = { assistant_id: 'configured', schedule: '0 0 1 1 *', ...given };
  for (const path of [`/threads/${threadId}/runs/crons`, '/runs/crons']) {
    const cron = await made(body, path);
    const configurable = { tone: 'dry', cron_id: cron.cron_id };
    const shown = { ...given, config: { ...given.config, configurable } };
    t.like(cron, { payload: { ...shown, schedule: '0 0 1 1 *' } });
    t.deepEqual((await service.send('GET', `/runs/crons/${cron.cron_id}`)).body, cron);
    const found = await service.send('POST', '/runs/crons/search', { metadata: { of: 'the clock' }, limit: 1 });
    t.deepEqual(found.body, [cron]);
    const thread = await fired(cron);
    const [run] = await runs.list(thread);
    t.like(run, { multitask_strategy: 'interrupt', metadata: { of: 'the clock' } });
    const { kwargs } = run as unknown as { readonly kwargs: Readonly<Record<string, unknown>> };
    const { multitask_strategy: _m, metadata: _of, config, ...ofRun } = shown;
    t.like(kwargs, { ...ofRun, config: { ...config, configurable } } as never);
    await runs.join(thread, run?.run_id ?? '');
    t.deepEqual((await threads.getState(thread)).next, ['configured']);
    const { messages } = (await runs.wait(thread, 'configured', {
      ...given,
      input: null,
      webhook: undefined,
      interruptBefore: [],
    } as never)) as unknown as {
      readonly messages: readonly { readonly content: string }[];
    };
    t.like(JSON.parse(messages.at(-1)?.content ?? '{}'), { context: { colour: 'blue' }, config: { tone: 'dry' } });
    await service.send('DELETE', `/runs/crons/${cron.cron_id}`);
  }
});

test('a cron keeps an input that is too large to be kept twice, and one that /v1 has changed', async (t) => {
  const content = 'x'.repeat(40_000);
  const { cron_id: id } = await made({ input: { messages: [{ role: 'user', content }], count: 3 } });
  const read = await patched(id, { metadata: { a: 1 } });
  const payloadOf = (cron: Cron) => cron['payload'] as { readonly input: object; readonly metadata: object };
  const large = { count: 3, messages: { length: 1, 0: { type: 'human', content } } };
  t.like(payloadOf(read), { metadata: { a: 1 }, input: large as never });
  t.like(payloadOf(await patched(id, { timezone: 'Europe/Berlin', stream_mode: 'updates' })), {
    input: large as never,
  });
  const messages = [{ role: 'user', content: 'from v1' }];
  const url = service.url().replace('/langgraph', `/v1/schedules/${id}`);
  await fetch(url, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ run: { messages, config: { agent: graphId, tone: 'dry', ttl: 3600 }, priority: 2 } }),
  });
  const changed = (await service.send('GET', `/runs/crons/${id}`)).body as Cron;
  t.like(payloadOf(changed), { input: { messages: { length: 1, 0: { type: 'human', content: 'from v1' } } } as never });
  await patched(id, { metadata: { b: 2 } });
  const { data } = (await (await fetch(url)).json()) as { readonly data: { readonly run: object } };
  t.like(data.run, { priority: 2, config: { ttl: 3600, tone: 'dry' }, messages: { length: 1 } });
});

test('runs of a cron on a thread wait for each other, unless its strategy says otherwise', async (t) => {
  const { threads, runs } = service.client();
  const { thread_id: id } = await threads.create();
  const path = `/threads/${id}/runs/crons`;
  const overlapOf = async (cron: Cron): Promise<unknown> => {
    const reply = await fetch(service.url().replace('/langgraph', `/v1/schedules/${cron.cron_id}`));
    return ((await reply.json()) as { readonly data: { readonly overlap: unknown } }).data.overlap;
  };
  t.is(await overlapOf(await made({}, path)), 'queue');
  const cron = await made({ multitask_strategy: 'interrupt', schedule: '0 0 1 1 *' }, path);
  t.is(await overlapOf(cron), 'allow');
  const renamed = await fetch(service.url().replace('/langgraph', `/v1/schedules/${cron.cron_id}`), {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'the clock' }),
  });
  t.is(renamed.status, 200);
  const slow = await runs.create(id, graphId, { input: { messages: [{ role: 'user', content: 'slow' }] } });
  await until(async () => (await runs.get(id, slow.run_id)).status === 'running');
  await fired(cron);
  await until(async () => (await runs.get(id, slow.run_id)).status === 'interrupted');
  t.pass();
});
