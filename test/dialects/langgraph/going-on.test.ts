import type { Client, StreamMode } from '@langchain/langgraph-sdk';
import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { serveLangGraph } from './service.ts';

// What a run does without input. Each is tried on a graph of LangGraph.js and on one of our own, which do the same.

const service = serveLangGraph(test, {}, { stepping: agentAt('stepping') });
const graphs = ['stepping', 'agent'] as const;

interface Values {
  readonly messages: readonly { readonly content: string }[];
  readonly count?: number;
  readonly answer?: string | null;
  readonly __interrupt__?: readonly { readonly id: string }[];
}

interface Streamed {
  readonly frames: readonly { readonly event: string; readonly data: unknown }[];
  /** The nodes that ran. */
  readonly nodes: readonly string[];
}

const streamMode: StreamMode[] = ['values', 'updates'];
const human = (content: string) => ({ messages: [{ role: 'human', content }] });
const sky = 'pale blue sky over hills';

async function streamed(client: Client, threadId: string, graph: string, payload: object): Promise<Streamed> {
  const frames: { event: string; data: unknown }[] = [];
  for await (const frame of client.runs.stream(threadId, graph, { streamMode, ...payload })) frames.push(frame);
  const nodes = frames.flatMap(({ event, data }) => (event === 'updates' ? Object.keys(data as object) : []));
  return { frames, nodes };
}

const eventsOf = ({ frames }: Streamed): string[] => frames.map(({ event }) => event);
const texts = ({ messages }: Values): string[] => messages.map(({ content }) => content);

async function open(graph: string, input: object, more: object = {}) {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const go = (payload: object): Promise<Streamed> => streamed(client, id, graph, payload);
  const first = await go({ input, ...more });
  return { client, id, go, first, state: () => client.threads.getState<Values>(id) };
}

for (const graph of graphs) {
  test(`${graph}: without input nothing runs on a thread that has ended, and its values stay`, async (t) => {
    const { client, id, go, state } = await open(graph, human('hello'));
    const before = await state();
    const nothing = await go({ input: null });
    t.deepEqual([nothing.nodes, eventsOf(nothing)], [[], ['metadata', 'values']]);
    const after = await state();
    t.deepEqual([after.values, after.next], [before.values, []]);
    const runs = await client.runs.list(id);
    t.deepEqual(
      runs.map(({ status }) => status),
      ['success', 'success'],
    );
  });

  test(`${graph}: without input a thread without state is refused by its run`, async (t) => {
    const client = service.client();
    const { thread_id: id } = await client.threads.create();
    const { frames } = await streamed(client, id, graph, { input: null });
    t.deepEqual(frames.at(-1)?.event, 'error');
    t.like(frames.at(-1)?.data, { message: 'Received no input for __start__' });
    const [run] = await client.runs.list(id);
    t.is(run?.status, 'error');
  });

  test(`${graph}: without input an open question is asked again, and can be answered`, async (t) => {
    const { go, state } = await open(graph, human('ask me'));
    const [before] = (await state()).tasks;
    const again = await go({ input: null });
    t.deepEqual(again.nodes, ['__interrupt__']);
    const [after] = (await state()).tasks;
    t.deepEqual([after?.name, after?.interrupts[0]?.id], ['gate', before?.interrupts[0]?.id]);
    await go({ command: { resume: 'yes' } });
    const { values, next } = await state();
    t.deepEqual([texts(values), values.answer, next], [['ask me', sky, 'you said yes'], 'yes', []]);
  });

  test(`${graph}: an update alone is written while a question is open, which is asked again`, async (t) => {
    const { go, state } = await open(graph, human('ask me'));
    const again = await go({ command: { update: { count: 5 } } });
    t.deepEqual(again.nodes, ['__interrupt__']);
    const { values, next } = await state();
    t.deepEqual([values.count, next], [6, ['gate']]);
  });

  test(`${graph}: an update alone on a thread that has ended is written, and runs nothing`, async (t) => {
    const { go, state } = await open(graph, human('hello'));
    const { nodes } = await go({ command: { update: { count: 7 } } });
    const { values, next } = await state();
    t.deepEqual([nodes, values.count, next], [[], 8, []]);
  });

  test(`${graph}: without input a run goes on at an older checkpoint, which branches there`, async (t) => {
    const { client, id, go, state } = await open(graph, human('hello'));
    const history = await client.threads.getHistory<Values>(id);
    const before = history.find(({ next }) => next[0] === 'gate');
    const { nodes } = await go({ input: null, checkpoint: before?.checkpoint });
    t.deepEqual(nodes, ['gate']);
    t.deepEqual(texts((await state()).values), ['hello', sky]);
    const more = await go({ command: { update: { count: 100 } }, checkpointId: before?.checkpoint.checkpoint_id });
    t.deepEqual([more.nodes, (await state()).values.count], [['gate'], 101]);
  });

  test(`${graph}: without input a run goes on behind a breakpoint`, async (t) => {
    const { go, state, first } = await open(graph, human('hello'), { interruptBefore: ['gate'] });
    t.deepEqual([first.nodes.filter((name) => name !== '__interrupt__'), (await state()).next], [['think'], ['gate']]);
    t.deepEqual((await go({ input: null })).nodes, ['gate']);
    t.deepEqual((await state()).next, []);
  });
}

test('without input a run repeats the step that failed, and none before it', async (t) => {
  const { go, state, first } = await open('stepping', human('hello'), { config: { configurable: { fail: true } } });
  t.is(eventsOf(first).at(-1), 'error');
  const again = await go({ input: null });
  t.deepEqual([again.nodes, (await state()).values.count], [['gate'], 1]);
});

test('without input a run repeats the step that failed also behind an update of the state', async (t) => {
  const { client, id, go, state } = await open('stepping', human('hello'), {
    config: { configurable: { fail: true } },
  });
  await client.threads.updateState(id, { values: { count: 10 } });
  const again = await go({ input: null });
  t.deepEqual([again.nodes, (await state()).values.count], [['gate'], 11]);
});

test('without input a run repeats the failed step with the answer that it had', async (t) => {
  const { go, state } = await open('stepping', human('ask me'));
  await go({ command: { resume: 'yes' }, config: { configurable: { fail: true } } });
  const again = await go({ input: null });
  t.deepEqual([again.nodes, (await state()).values.answer], [['gate'], 'yes']);
});

test('without input a run repeats the step that was cancelled', async (t) => {
  const { client, id, go, state } = await open('agent', human('hello'));
  const { run_id: run } = await client.runs.create(id, 'agent', { input: human('slow') });
  for await (const { event } of client.runs.joinStream(id, run, { streamMode: ['values'] }))
    if (event === 'values') break;
  await client.runs.cancel(id, run, true);
  await client.threads.updateState(id, { values: human('now quick') });
  const again = await go({ input: null });
  t.deepEqual(again.nodes, ['think', 'gate']);
  t.deepEqual(texts((await state()).values), ['hello', sky, 'slow', 'now quick', sky]);
});
