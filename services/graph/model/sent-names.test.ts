import test from 'ava';
import { remoteTool, tool } from '../build/tool.ts';
import { toolResult, user, walk } from '../testing.ts';
import type { Model, ModelQuestion } from './model.ts';
import { createReactAgent } from './react-agent.ts';

const parameters = { type: 'object' };
const long = `${'very_'.repeat(14)}long`;
const names = ['notes.write', 'notes/write', long, '2fa', 'plain'];

/** Calls each tool that it is offered, then ends; keeps what it is asked. */
function callsAll(asked: ModelQuestion[]): Model {
  return {
    async *answer(question) {
      asked.push(question);
      if (asked.length > 1) {
        yield { type: 'text', text: 'Done.' };
        return;
      }
      for (const [index, { name }] of question.tools.entries())
        yield { type: 'tool_call', id: String(index), name, args: {} };
    },
  };
}

// cline#11885: a name of 76 characters, refused by every provider.
test('a model reads names that every provider takes, and each leads to its tool', async (t) => {
  const asked: ModelQuestion[] = [];
  const ran: string[] = [];
  const tools = names.map((name) => tool({ name, description: '', parameters }, () => void ran.push(name)));
  const { state } = await walk(createReactAgent({ model: callsAll(asked), tools }), { context: [user('Go on.')] });
  const sent = asked[0]?.tools.map(({ name }) => name) ?? [];
  for (const name of sent) t.regex(name, /^[A-Za-z_][\w-]{0,63}$/);
  t.is(new Set(sent).size, names.length);
  t.is(sent.at(-1), 'plain');
  t.deepEqual(ran, names);
  const kept = state.context.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_call'));
  t.deepEqual(
    kept.map(({ name }) => name),
    names,
  );
  const again = asked[1]?.messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_call'));
  t.deepEqual(
    again?.map(({ name }) => name),
    sent,
  );
});

test('a caller reads the call of its tool by the name that it gave', async (t) => {
  const asked: ModelQuestion[] = [];
  const remote = remoteTool({ name: 'ort.finden', description: '', parameters });
  const graph = createReactAgent({ model: callsAll(asked), tools: [remote] });
  const { openCalls } = await walk(graph, { context: [user('Where?')] });
  t.like(openCalls, [{ type: 'remote_tool_call', name: 'ort.finden' }]);
  t.is(asked[0]?.tools[0]?.name, 'ort_finden');
});

// adk-python#5049.
test('a caller does not get a call that the schema of its tool refuses, and the model reads why', async (t) => {
  const remote = remoteTool({
    name: 'locate',
    description: '',
    parameters: { type: 'object', properties: { exact: { type: 'boolean' } }, required: ['exact'] },
  });
  let answers = 0;
  const model: Model = {
    async *answer() {
      answers += 1;
      if (answers === 1) {
        yield { type: 'tool_call', id: 'a', name: 'locate', args: { exact: 'maybe' } };
        yield { type: 'tool_call', id: 'b', name: 'locate', args: {} };
      } else if (answers === 2) yield { type: 'tool_call', id: 'c', name: 'locate', args: { exact: true } };
      else yield { type: 'text', text: 'In Lisbon.' };
    },
  };
  const graph = createReactAgent({ model, tools: [remote] });
  const waiting = await walk(graph, { context: [user('Where am I?')] });
  t.deepEqual(
    waiting.openCalls.map(({ id, type, args }) => [id, type, args]),
    [['c', 'remote_tool_call', { exact: true }]],
  );
  const results = waiting.state.context.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
  t.deepEqual(
    results.map(({ call_id: id, output, is_error: isError }) => [id, output, isError]),
    [
      ['a', 'arguments/exact must be boolean', true],
      ['b', "arguments must have required property 'exact'", true],
    ],
  );
  const calls = waiting.state.context.flatMap(({ content }) =>
    content.filter(({ type }) => type.endsWith('tool_call')),
  );
  t.deepEqual(
    calls.map(({ id, type }) => [id, type]),
    [
      ['a', 'tool_call'],
      ['b', 'tool_call'],
      ['c', 'remote_tool_call'],
    ],
  );
  const [call] = waiting.openCalls;
  const ended = call && (await walk(graph, { from: waiting, context: [toolResult(call, 'Lisbon')] }));
  t.false(ended?.waiting);
});
