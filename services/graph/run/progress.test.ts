import test from 'ava';
import { START } from '../build/names.ts';
import { StateGraph } from '../build/graph.ts';
import { send } from '../build/send.ts';
import { tool, toolNode } from '../build/tool.ts';
import { walk } from '../testing.ts';

test('what nodes, tools, sub-graphs and branches publish as progress is given in its order, with the node and the branch', async (t) => {
  const search = tool(
    { name: 'search', description: 'Searches', parameters: { type: 'object' } },
    (_, { progress }) => {
      progress({ pages: 3 });
      return 'seen';
    },
  );
  const inner = new StateGraph({})
    .addNode('deep', (_, { progress }) => progress('within'))
    .addEdge(START, 'deep')
    .compile();
  const graph = new StateGraph({})
    .addNode('ask', (_, { progress, emit }) => {
      progress({ percent: 10, at: new Date(0) });
      progress(null);
      emit({ type: 'tool_call', id: 'c', name: 'search', args: {} });
    })
    .addNode('tools', toolNode([search]))
    .addNode('sub', inner)
    .addNode('work', (_, { progress, input }) => progress(input))
    .addEdge(START, 'ask')
    .addEdge('ask', 'tools')
    .addEdge('tools', 'sub')
    .addConditionalEdges('sub', () => [send('work', 'a'), send('work', 'b')])
    .compile();
  const published: unknown[] = [];
  await walk(graph, { onProgress: (...all) => published.push(all) });
  t.deepEqual(published, [
    ['ask', { percent: 10, at: '1970-01-01T00:00:00.000Z' }],
    ['ask', null],
    ['tools', { pages: 3 }],
    ['sub', 'within'],
    ['work', 'a', 0],
    ['work', 'b', 1],
  ]);
});

const refused: Readonly<Record<string, readonly [unknown, RegExp]>> = {
  'no JSON': [() => 1, /progress\(\) was given a value that is not JSON: value is a function$/],
  'more than 64 KiB': ['x'.repeat(64 * 1024), /progress\(\) was given 65538 bytes of JSON, more than 65536$/],
};

for (const [what, [data, message]] of Object.entries(refused)) {
  test(`progress that is ${what} fails the node`, async (t) => {
    const graph = new StateGraph({})
      .addNode('work', (_, { progress }) => progress(data))
      .addEdge(START, 'work')
      .compile();
    await t.throwsAsync(walk(graph), { message });
  });
}

test('progress after its node or its tool call has returned is dropped, and throws in a walk', async (t) => {
  const calls: ((data: unknown) => void)[] = [];
  const published: unknown[] = [];
  const search = tool(
    { name: 'search', description: 'Searches', parameters: { type: 'object' } },
    (_, { progress }) => void calls.push(progress),
  );
  const graph = new StateGraph({})
    .addNode('ask', (_, { progress, emit }) => {
      calls.push(progress);
      emit({ type: 'tool_call', id: 'c', name: 'search', args: {} });
    })
    .addNode('tools', toolNode([search]))
    .addEdge(START, 'ask')
    .addEdge('ask', 'tools')
    .compile();
  await walk(graph, { onProgress: (_, data) => published.push(data) });
  const words = 'called progress() after it had ended, which is dropped: it must await what calls it';
  t.throws(() => calls[0]?.('late'), { message: `node "ask" ${words}` });
  t.throws(() => calls[1]?.('late'), { message: `tool "search" of node "tools" ${words}` });
  t.deepEqual(published, []);
});

test('progress after its tool call has failed or asks is dropped without a word', async (t) => {
  const calls: ((data: unknown) => void)[] = [];
  const published: unknown[] = [];
  const failing = tool({ name: 'fails', description: 'Fails', parameters: { type: 'object' } }, (_, { progress }) => {
    calls.push(progress);
    throw new Error('no tea');
  });
  const asking = tool({ name: 'asks', description: 'Asks', parameters: { type: 'object' } }, (_, context) => {
    calls.push(context.progress);
    return context.interrupt('tea?');
  });
  const graph = new StateGraph({})
    .addNode('ask', (_, { emit }) => {
      for (const name of ['fails', 'asks']) emit({ type: 'tool_call', id: name, name, args: {} });
    })
    .addNode('tools', toolNode([failing, asking]))
    .addEdge(START, 'ask')
    .addEdge('ask', 'tools')
    .compile();
  const { waiting } = await walk(graph, { onProgress: (_, data) => published.push(data) });
  t.deepEqual([waiting, calls.length], [true, 2]);
  for (const progress of calls) progress('late');
  t.deepEqual(published, []);
});
