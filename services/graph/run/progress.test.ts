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

test('what a node publishes after its end is dropped', async (t) => {
  const late = Promise.withResolvers<undefined>();
  const published: unknown[] = [];
  const graph = new StateGraph({})
    .addNode('work', (_, { progress }) => {
      setImmediate(() => {
        progress('late');
        late.resolve(undefined);
      });
    })
    .addEdge(START, 'work')
    .compile();
  await walk(graph, { onProgress: (_, data) => published.push(data) });
  await late.promise;
  t.deepEqual(published, []);
});
