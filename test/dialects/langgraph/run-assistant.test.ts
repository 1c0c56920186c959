import test, { type ExecutionContext } from 'ava';
import { until } from '../../until.ts';
import { graphId, ownId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const { threads, runs, assistants, crons } = {
  threads: () => service.client().threads,
  runs: () => service.client().runs,
  assistants: () => service.client().assistants,
  crons: () => service.client().crons,
};

const sending = (text: string) => ({ input: { messages: [{ role: 'user', content: text }] } });
const makeAssistant = async (): Promise<string> => (await assistants().create({ graphId })).assistant_id;
const ofThread = async (id: string): Promise<unknown[]> => {
  const { metadata } = await threads().get(id);
  return [metadata?.['graph_id'], metadata?.['assistant_id']];
};
const found = async (t: ExecutionContext, metadata: object, expected: readonly string[]): Promise<void> => {
  const ids = (await threads().search({ metadata: { ...metadata }, limit: 100 })).map(({ thread_id: id }) => id);
  t.deepEqual(ids.toSorted(), expected.toSorted(), JSON.stringify(metadata));
  t.is(await threads().count({ metadata: { ...metadata } }), expected.length);
};

test('a thread names the assistant of the run that was made there last', async (t) => {
  const [one, other] = [await makeAssistant(), await makeAssistant()];
  const { thread_id: id } = await threads().create({ metadata: { of: 'marks' } });
  const { thread_id: same } = await threads().create({ metadata: { of: 'marks' } });
  t.deepEqual(await ofThread(id), [undefined, undefined]);
  await runs().wait(id, one, sending('hello'));
  await runs().wait(same, graphId, sending('hello'));
  t.deepEqual(await ofThread(id), [graphId, one]);
  t.deepEqual(await ofThread(same), [graphId, ownId]);
  t.like((await threads().getState(id)).metadata, { assistant_id: one, of: 'marks' });
  await found(t, { of: 'marks', assistant_id: one }, [id]);
  await found(t, { of: 'marks', assistant_id: ownId }, [same]);
  await found(t, { of: 'marks', graph_id: graphId }, [id, same]);
  await found(t, { of: 'marks', graph_id: 'office' }, []);
  await found(t, { of: 'marks', graph_id: graphId, assistant_id: one }, [id]);
  await runs().wait(id, other, sending('again'));
  t.deepEqual(await ofThread(id), [graphId, other]);
  await runs().wait(id, graphId, sending('again'));
  t.deepEqual(await ofThread(id), [graphId, ownId]);
  t.is((await threads().get(id)).metadata?.['of'], 'marks');
  const listed = (await runs().list(id)).map(({ assistant_id: assistant }) => assistant);
  t.deepEqual(listed, [ownId, other, one]);
});

test('a run that waits for another one does not name its assistant on the thread', async (t) => {
  const one = await makeAssistant();
  const { thread_id: id } = await threads().create();
  const slow = await runs().create(id, graphId, sending('slow'));
  const next = await runs().create(id, one, sending('hello'));
  t.deepEqual(await ofThread(id), [graphId, ownId]);
  await runs().cancel(id, slow.run_id);
  await runs().join(id, next.run_id);
  t.is((await runs().get(id, next.run_id)).assistant_id, one);
});

test('frames and runs of other dialects name the assistant of the run', async (t) => {
  const one = await makeAssistant();
  const { thread_id: id } = await threads().create();
  const named = async (stream: AsyncIterable<{ event: string; data: unknown }>): Promise<unknown[]> => {
    const seen = new Set<unknown>();
    for await (const { event, data } of stream)
      if (event === 'messages') seen.add((data as [unknown, { assistant_id: unknown }])[1].assistant_id);
    return [...seen];
  };
  let runId = '';
  const stream = runs().stream(id, one, {
    ...sending('hello'),
    streamMode: 'messages-tuple',
    onRunCreated: (run) => {
      runId = run.run_id;
    },
  });
  t.deepEqual(await named(stream), [one]);
  t.deepEqual(await named(runs().joinStream(id, runId, { streamMode: 'messages-tuple' })), [one]);
  const invoked = await fetch(service.url().replace('/langgraph', '/v1/graph/invoke'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'x' }], config: { thread_id: id, assistant_id: one } }),
  });
  t.is(invoked.status, 200);
  const [newest] = await runs().list(id);
  t.like(newest, { assistant_id: one, metadata: { assistant_id: one } });
});

test('a cron starts runs of its assistant, and of another one from a change on', async (t) => {
  const [one, other] = [await makeAssistant(), await makeAssistant()];
  const { thread_id: id } = await threads().create();
  const cron = (await crons().createForThread(id, one, { ...sending('hello'), schedule: '0 0 1 1 *' })) as unknown as {
    readonly cron_id: string;
  };
  const runNow = async (): Promise<unknown> => {
    const before = (await runs().list(id)).length;
    const url = service.url().replace('/langgraph', `/v1/schedules/${cron.cron_id}/run`);
    t.is((await fetch(url, { method: 'POST' })).status, 202);
    await until(async () => (await runs().list(id)).length > before);
    const [newest] = await runs().list(id);
    await runs().join(id, newest?.run_id ?? '');
    return newest?.assistant_id;
  };
  t.is(await runNow(), one);
  t.deepEqual(await ofThread(id), [graphId, one]);
  await service.send('PATCH', `/runs/crons/${cron.cron_id}`, { assistant_id: other });
  t.is(await runNow(), other);
  t.deepEqual(await ofThread(id), [graphId, other]);
});
