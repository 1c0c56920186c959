import test from 'ava';
import { START } from '../build/names.ts';
import { send } from '../build/send.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { remoteTool, tool } from '../build/tool.ts';
import { createReactAgent } from '../model/react-agent.ts';
import { fakeModel, toolResult, walk, walkWithCrashes, type ScriptedAnswer, type Walked } from '../testing.ts';

const parameters = { type: 'object' };
const there = remoteTool({ name: 'there', description: '', parameters });
const here = tool({ name: 'here', description: '', parameters }, () => 'local');

/** Branches that are agents, each with a script of its own. */
function agents(...scripts: (readonly ScriptedAnswer[])[]): CompiledGraph {
  const graph = new StateGraph({});
  for (const [at, script] of scripts.entries()) {
    const name = `agent ${String(at)}`;
    graph.addNode(name, createReactAgent({ model: fakeModel(script), tools: [there, here] }));
  }
  return graph
    .addNode('end', (_state, { emit }) => emit('end'))
    .addConditionalEdges(START, () => scripts.map((_, at) => send(`agent ${String(at)}`, at)))
    .addEdge(
      scripts.map((_, at) => `agent ${String(at)}`),
      'end',
    )
    .compile();
}

const call = (id: string, name = 'there') => [{ type: 'tool_call', id, name, args: {} }] as const;

const idsOf = ({ openCalls }: Walked): readonly string[] => openCalls.map(({ id }) => id).toSorted();

test('remote tools that several branches call are all waited for, in whichever order they are answered', async (t) => {
  const order = ['b', 'a', 'c'];
  const graph = agents(...['a', 'b', 'c'].map((id) => [call(id), `got ${id}`]));
  let walked = await walk(graph);
  t.deepEqual(idsOf(walked), ['a', 'b', 'c']);
  for (const [at, id] of order.entries()) {
    t.is(walked.ended, 'waiting');
    walked = await walk(graph, { from: walked, context: [toolResult({ id }, id)] });
    t.deepEqual(idsOf(walked), order.slice(at + 1).toSorted());
  }
  t.deepEqual([walked.ended, walked.steps.at(-1)], ['done', ['end']]);
});

test('a branch that ends with text, or answers calls of its own, hides no call of another', async (t) => {
  const graph = agents([[...call('a'), ...call('mine', 'here')], 'got a'], [call('b', 'here'), 'done'], ['text alone']);
  const waiting = await walk(graph);
  t.deepEqual([waiting.ended, idsOf(waiting)], ['waiting', ['a']]);
  const walked = await walk(graph, { from: waiting, context: [toolResult({ id: 'a' }, 1)] });
  t.is(walked.ended, 'done');
  const local = walked.state.context.flatMap(({ content }) => content.filter(({ output }) => output === 'local'));
  t.is(local.length, 2);
});

test('a crash while branches wait for remote tools loses none of their calls', async (t) => {
  const graph = () => agents([call('a'), 'got a'], [call('b'), 'got b']);
  const asked = await walkWithCrashes(graph);
  t.deepEqual([asked.differences, idsOf(asked.walked)], [[], ['a', 'b']]);
});
