import type { Client, ThreadState } from '@langchain/langgraph-sdk';
import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { refused, serveLangGraph } from './service.ts';

// Updates of a state, as LangGraph Server makes them, on a graph of LangGraph.js and on one of our own.

const service = serveLangGraph(test, {}, { stepping: agentAt('stepping') });
const graphs = ['stepping', 'agent'] as const;

interface Values {
  readonly messages: readonly { readonly id: string; readonly content: string }[];
  readonly count?: number;
  readonly answer?: string | null;
}

const human = (content: string) => ({ messages: [{ role: 'human', content }] });
const sky = 'pale blue sky over hills';
const texts = ({ values }: ThreadState<Values>): string[] => values.messages.map(({ content }) => content);
const remove = (id: string | undefined) => ({ type: 'remove', id, content: '' });

async function open(graph: string, text: string, more: object = {}) {
  const client: Client = service.client();
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, graph, { input: human(text), ...more });
  const state = () => client.threads.getState<Values>(id);
  const update = (messages: readonly object[]) => client.threads.updateState(id, { values: { messages } });
  return { client, id, state, update };
}

for (const graph of graphs) {
  test(`${graph}: an update removes messages, one by its id and all that are there`, async (t) => {
    const { client, id, state, update } = await open(graph, 'hello');
    const before = await state();
    await update([remove(before.values.messages[0]?.id)]);
    t.deepEqual(texts(await state()), [sky]);
    t.deepEqual(texts((await client.threads.getHistory<Values>(id))[1] as ThreadState<Values>), ['hello', sky]);
    await update([{ role: 'user', content: 'before' }, remove('__remove_all__'), { role: 'user', content: 'fresh' }]);
    t.deepEqual(texts(await state()), ['fresh']);
    await client.runs.wait(id, graph, { input: human('more') });
    t.deepEqual(texts(await state()), ['fresh', 'more', sky]);
  });

  test(`${graph}: a message that is not there is not removed, and nothing is written`, async (t) => {
    const { state, update } = await open(graph, 'hello');
    const before = await state();
    await refused(t, update([remove('nope')]), 422);
    t.deepEqual(await state(), before);
  });

  test(`${graph}: an update in the place of the node that asks ends what the thread waits for`, async (t) => {
    const { client, id, state } = await open(graph, 'ask me');
    await client.threads.updateState(id, { values: { answer: 'by hand' }, asNode: 'gate' });
    const { values, next, tasks, metadata } = await state();
    t.deepEqual([values.answer, next, tasks], ['by hand', [], []]);
    t.like(metadata, { source: 'update' });
    t.is((await client.threads.get(id)).status, 'idle');
    await client.runs.wait(id, graph, { input: null });
    t.deepEqual(texts(await state()), ['ask me', sky]);
  });

  test(`${graph}: an update in the place of the node before leaves what comes next`, async (t) => {
    const { client, id, state } = await open(graph, 'ask me');
    await client.threads.updateState(id, { values: { count: 10 }, asNode: 'think' });
    const { values, next } = await state();
    t.deepEqual([values.count, next], [11, ['gate']]);
    await client.runs.wait(id, graph, { command: { resume: 'yes' } });
    t.deepEqual([(await state()).values.answer, (await state()).next], ['yes', []]);
  });

  test(`${graph}: checkpoints of a run have the metadata of its request, and scalars of its config`, async (t) => {
    const { client, id } = await open(graph, 'hello', {
      metadata: { mine: 1 },
      config: { configurable: { place: 'bar', nested: { a: 1 } } },
    });
    const run = (await client.runs.list(id))[0]?.run_id;
    const history = await client.threads.getHistory<Values>(id);
    t.is(history.length, 4);
    for (const { metadata } of history) {
      t.like(metadata, { run_id: run, thread_id: id, graph_id: graph, mine: 1, place: 'bar', run_attempt: 1 });
      t.like(metadata, { created_by: 'system' });
      t.false('nested' in (metadata as object));
    }
    t.is((await client.threads.getHistory(id, { metadata: { mine: 1 } })).length, 4);
    t.is((await client.threads.getHistory(id, { metadata: { mine: 2 } })).length, 0);
  });
}
