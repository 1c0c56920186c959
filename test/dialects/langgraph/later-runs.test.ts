import test from 'ava';
import type { Run } from '@langchain/langgraph-sdk';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);

const sending = (content: string) => ({ input: { messages: [{ role: 'human', content }] } });
const makeThread = async (): Promise<string> => (await service.client().threads.create()).thread_id;
const listed = async (id: string, status?: Run['status']): Promise<readonly (readonly [string, string])[]> =>
  (await service.client().runs.list(id, { ...(status && { status }) })).map((run) => [run.run_id, run.status]);

const textsOf = (values: unknown): unknown[] =>
  (values as { messages: { content: unknown }[] }).messages.map(({ content }) => content);

test('a run that starts later is listed as pending, and waited for by those who join it', async (t) => {
  const { runs } = service.client();
  const id = await makeThread();
  const first = await runs.create(id, graphId, sending('first'));
  await runs.join(id, first.run_id);
  const later = await runs.create(id, graphId, { ...sending('later'), afterSeconds: 3 });
  t.deepEqual(await listed(id), [
    [later.run_id, 'pending'],
    [first.run_id, 'success'],
  ]);
  t.deepEqual(await listed(id, 'pending'), [[later.run_id, 'pending']]);
  t.deepEqual(await listed(id, 'success'), [[first.run_id, 'success']]);
  const events: string[] = [];
  const following = (async () => {
    for await (const { event } of runs.joinStream(id, later.run_id, { streamMode: 'values' })) events.push(event);
  })();
  t.deepEqual(textsOf(await runs.join(id, later.run_id)).at(-2), 'later');
  await following;
  t.deepEqual([events[0], events.at(-1)], ['metadata', 'values']);
  t.deepEqual(await listed(id), [
    [later.run_id, 'success'],
    [first.run_id, 'success'],
  ]);
});

test('a run without a thread may start later, in one that goes with it unless that is to stay', async (t) => {
  const { runs } = service.client();
  const values = await runs.wait(null, graphId, { ...sending('alone'), afterSeconds: 1 });
  t.is(textsOf(values).at(-2), 'alone');
  const later = await runs.create(null, graphId, { ...sending('later'), afterSeconds: 3600 });
  t.is(later.status, 'pending');
  const onThread = runs.create(await makeThread(), graphId, {
    ...{ ...sending('no'), afterSeconds: 3600, onCompletion: 'delete' as never },
  });
  await t.throwsAsync(onThread, { message: /422.*on_completion.*must be keep/ });
});

test('what starts later is refused at once where its graph lacks a field of the input, which is named', async (t) => {
  const { runs, crons } = service.client();
  const input = { no_such_field: 1 };
  const refusal = { message: /422.*input\.no_such_field: is not a field/ };
  await t.throwsAsync(runs.create(null, graphId, { input, afterSeconds: 3600 }), refusal);
  await t.throwsAsync(runs.create(await makeThread(), graphId, { input, afterSeconds: 3600 }), refusal);
  await t.throwsAsync(crons.create(graphId, { input, schedule: '0 0 * * *' }), refusal);
});

test('a run that is cancelled before it starts stays in the list as interrupted, and leaves its thread as it is', async (t) => {
  const { runs, threads } = service.client();
  const id = await makeThread();
  const later = await runs.create(id, graphId, { ...sending('never'), afterSeconds: 3600 });
  const joined = runs.join(id, later.run_id);
  const events: string[] = [];
  const following = (async () => {
    for await (const { event } of runs.joinStream(id, later.run_id)) events.push(event);
  })();
  await runs.cancel(id, later.run_id);
  t.deepEqual(await listed(id), [[later.run_id, 'interrupted']]);
  t.deepEqual(await listed(id, 'pending'), []);
  t.is((await runs.get(id, later.run_id)).status, 'interrupted');
  t.deepEqual(await joined, {});
  await following;
  t.deepEqual(events, []);
  await runs.cancel(id, later.run_id);
  t.is((await threads.get(id)).values, null as never);
  const url = service.url().replace(/\/langgraph$/, '/v1/runs');
  t.is((await fetch(`${url}/${later.run_id}`)).status, 404);
});

test('a run that starts later may be waited for and streamed at once', async (t) => {
  const { runs } = service.client();
  const id = await makeThread();
  const began = Date.now();
  t.deepEqual(textsOf(await runs.wait(id, graphId, { ...sending('wait'), afterSeconds: 1 }))[0], 'wait');
  t.true(Date.now() - began >= 1000);
  const events: string[] = [];
  for await (const { event } of runs.stream(id, graphId, {
    ...sending('stream'),
    afterSeconds: 1,
    streamMode: 'updates',
  }))
    events.push(event);
  t.deepEqual([events[0], events.at(-1)], ['metadata', 'updates']);
});
