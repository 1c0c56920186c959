import test from 'ava';
import { START } from './build/names.ts';
import { StateGraph } from './build/graph.ts';
import { remoteTool, tool, toolNode } from './build/tool.ts';
import { field } from './state/field.ts';
import { user, walk } from './testing.ts';

test('a walk from one that ended is the next turn of the thread', async (t) => {
  const turns = field<number>({ type: 'integer', default: 0, reducer: (before, more) => before + more });
  const graph = new StateGraph({ turns })
    .addNode('count', () => ({ turns: 1 }))
    .addEdge(START, 'count')
    .compile();
  const first = await walk(graph, { context: [user('one')] });
  const second = await walk(graph, { from: first, context: [user('two')] });
  t.deepEqual([second.steps, second.state.values['turns'], second.state.context.length], [[['count']], 2, 2]);
});

test('a walk that stopped at its number of steps continues there', async (t) => {
  const graph = new StateGraph({})
    .addNode('one', () => undefined)
    .addNode('two', () => undefined)
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .compile();
  const stopped = await walk(graph, { maxSteps: 1 });
  t.deepEqual([stopped.steps, (await walk(graph, { from: stopped })).steps], [[['one']], [['two']]]);
});

test('a walk waits for the remote tools that the graph declares, and runs the others', async (t) => {
  const parameters = { type: 'object' };
  const here = tool({ name: 'here', description: '', parameters }, () => 'done');
  const there = remoteTool({ name: 'there', description: '', parameters });
  const call = (name: string) => ({ type: 'tool_call', id: name, name, args: {} });
  const graph = new StateGraph({})
    .addNode('call', () => ({ messages: [{ content: [call('here'), call('there')] }] }))
    .addNode('tools', toolNode([here, there]))
    .addEdge(START, 'call')
    .addEdge('call', 'tools')
    .compile();
  const { waiting, state } = await walk(graph);
  t.true(waiting);
  t.deepEqual(
    state.context.flatMap(({ content }) => content.map(({ type }) => type)),
    ['tool_call', 'remote_tool_call', 'tool_result'],
  );
});
