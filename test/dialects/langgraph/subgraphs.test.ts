import test from 'ava';
import type { StreamMode } from '@langchain/langgraph-sdk';
import { agentAt } from '../../servers/standalone.ts';
import { serveLangGraph } from './service.ts';

const service = serveLangGraph(test, {}, { nested: agentAt('lang-graph-tasks').replace(/:graph$/, ':nested') });

interface Frame {
  readonly event: string;
  readonly data: unknown;
}

const streamMode: StreamMode[] = ['values', 'updates', 'tasks', 'messages-tuple'];

async function collect(stream: AsyncIterable<Frame>): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const { event, data } of stream) frames.push({ event, data });
  return frames;
}

const streamed = (threadId: string, payload: object): Promise<readonly Frame[]> =>
  collect(service.client().runs.stream(threadId, 'nested', { streamMode, ...payload }));

const of = (frames: readonly Frame[], event: string): unknown[] =>
  frames.filter((frame) => frame.event === event).map(({ data }) => data);

test('what goes on in a sub-graph is streamed with its namespace where the run asks for it, also when it is read again', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const frames = await streamed(id, { input: { notes: ['given'] }, streamSubgraphs: true });
  const started = of(frames, 'tasks').find((task) => (task as { name: string }).name === 'inner') as { id: string };
  const namespace = `inner:${started.id}`;
  const updates = of(frames, `updates|${namespace}`) as { inner_a?: { notes: string[]; messages: object[] } }[];
  t.deepEqual(updates[0]?.inner_a?.notes, ['in']);
  t.like(updates[0]?.inner_a?.messages[0], { type: 'ai', id: 'm1', content: 'from inside' });
  t.deepEqual(updates[1], { inner_b: { text: 'inner done' } });
  t.deepEqual(
    of(frames, `values|${namespace}`).map((values) => (values as { notes: string[] }).notes),
    [
      ['given', 'before'],
      ['given', 'before', 'in'],
      ['given', 'before', 'in'],
    ],
  );
  t.deepEqual(
    of(frames, `tasks|${namespace}`).map((task) => [(task as { name: string }).name, 'result' in (task as object)]),
    [
      ['inner_a', false],
      ['inner_a', true],
      ['inner_b', false],
      ['inner_b', true],
    ],
  );
  const [[message, about] = []] = of(frames, `messages|${namespace}`) as object[][];
  t.like(message, { id: 'm1', content: 'from inside' });
  t.like(about, { langgraph_node: 'inner_a', checkpoint_ns: namespace });
  t.deepEqual(
    of(frames, 'updates').map((update) => Object.keys(update as object)),
    [['before'], ['inner'], ['after']],
  );
  const [run] = await client.runs.list(id);
  const again = await collect(client.runs.joinStream(id, run?.run_id ?? '', { streamMode }) as AsyncIterable<Frame>);
  t.deepEqual(again, frames);
});

test('a stream that does not ask for sub-graphs has nothing of them but messages', async (t) => {
  const { thread_id: id } = await service.client().threads.create();
  const frames = await streamed(id, { input: {} });
  t.deepEqual(
    [...new Set(frames.map(({ event }) => event))].filter((event) => event.includes('|')),
    [],
  );
  t.true(of(frames, 'messages').length > 0);
});
