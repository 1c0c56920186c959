import { textOf, type Message } from '@agent-workflow/protos/message';
import test from 'ava';
import { StateGraph } from '../build/graph.ts';
import { START } from '../build/names.ts';
import { tool } from '../build/tool.ts';
import { field } from '../state/field.ts';
import { fakeModel, user, walk } from '../testing.ts';
import type { AnswerPart, FinishReason } from './model.ts';
import { outputNode } from './output-node.ts';
import { createReactAgent } from './react-agent.ts';

const finish = (reason: FinishReason): AnswerPart => ({ type: 'finish', reason });
const text = (words: string): AnswerPart => ({ type: 'text', text: words });
const call = (name: string, cut?: true): AnswerPart => ({
  ...{ type: 'tool_call', id: `call-${name}`, name, args: {} },
  ...(cut && { cut }),
});

/** A tool that may be called without arguments, and how often it was. */
function counting(name: string): { readonly made: ReturnType<typeof tool>; readonly calls: () => number } {
  let count = 0;
  const made = tool({ name, description: 'Counts.', parameters: { type: 'object' } }, () => ++count);
  return { made, calls: () => count };
}

const resultsIn = (messages: readonly Message[]): readonly unknown[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? content.map(({ output }) => output) : []));

const asked = { context: [user('Tidy up.')] };

test('a call that was cut is not run, and the model reads so and may call again', async (t) => {
  const wipe = counting('wipe');
  const model = fakeModel([[call('wipe', true), finish('length')], [call('wipe'), finish('tool_calls')], 'Done.']);
  const { state, steps } = await walk(createReactAgent({ model, tools: [wipe.made] }), asked);
  t.is(wipe.calls(), 1);
  t.deepEqual(steps, [['agent'], ['tools'], ['agent'], ['tools'], ['agent']]);
  const [why] = resultsIn(model.questions[1]?.messages ?? []);
  t.regex(String(why), /reached its length limit before this call was whole. Nothing was run/);
  t.is(textOf(state.context.at(-1) ?? user('')), 'Done.');
});

test('of the calls of an answer those that are whole are run beside one that was cut', async (t) => {
  const [find, wipe] = [counting('find'), counting('wipe')];
  const model = fakeModel([[call('find'), call('wipe', true), finish('content_filter')], 'Done.']);
  await walk(createReactAgent({ model, tools: [find.made, wipe.made] }), asked);
  t.deepEqual([find.calls(), wipe.calls()], [1, 0]);
  const results = resultsIn(model.questions[1]?.messages ?? []);
  t.is(results.length, 2);
  t.true(results.includes(1));
  t.true(results.some((result) => String(result).startsWith('The provider filtered the answer')));
});

test('a cut call of a remote tool is not handed to the caller', async (t) => {
  const model = fakeModel([[call('locate', true), finish('length')], 'Where are you?']);
  const declared = { name: 'locate', description: 'Where the user is', parameters: { type: 'object' } };
  const { state, ended, events } = await walk(createReactAgent({ model }), {
    ...asked,
    run: { tools: [declared] },
    isRemote: (name) => name === 'locate',
  });
  t.is(ended, 'done');
  t.notRegex(JSON.stringify([state, events]), /remote_tool_call/);
});

test('a model that never makes a whole call is asked until the walk ends', async (t) => {
  const wipe = counting('wipe');
  const model = fakeModel(() => [call('wipe', true), finish('length')]);
  const { ended } = await walk(createReactAgent({ model, tools: [wipe.made] }), { ...asked, maxSteps: 9 });
  t.is(ended, 'max_steps');
  t.is(wipe.calls(), 0);
});

test('calls that have the id of an earlier one are told apart', async (t) => {
  const find = counting('find');
  const model = fakeModel([
    [call('find'), call('find'), finish('tool_calls')],
    [call('find'), finish('tool_calls')],
    'Done.',
  ]);
  const { state } = await walk(createReactAgent({ model, tools: [find.made] }), asked);
  t.is(find.calls(), 3);
  t.is(new Set(state.context.flatMap(({ content }) => content.flatMap(({ call_id: id }) => id ?? []))).size, 3);
});

for (const [title, parts, message, reason] of [
  ['withheld', [finish('content_filter')], 'the provider of the model filtered the content', 'content_filtered'],
  [
    'of which the model only thought',
    [{ type: 'reasoning', text: 'Hm' }, finish('length')],
    'the model reached the limit of its answer before it said anything',
    'answer_too_long',
  ],
  [
    'that ended with an error',
    [text('Half a'), finish('error')],
    'the model ended its answer with an error',
    'provider_error',
  ],
] as const)
  test(`an answer ${title} fails the node and says so, and its tokens count`, async (t) => {
    const usage = { model: 'm', inputTokens: 3, outputTokens: 1 };
    const counted: (typeof usage & object)[] = [];
    const model = fakeModel([[{ ...usage, type: 'usage' }, ...parts]]);
    const error = await t.throwsAsync(
      walk(createReactAgent({ model }), { ...asked, onUsage: (given) => void counted.push(given) }),
      { message: `node "agent" failed: ${message}` },
    );
    t.like(error, { shown: { reason } });
    t.like(counted, [usage]);
  });

test('a part of an answer that the provider did not filter is kept', async (t) => {
  const model = fakeModel([[text('The first'), finish('content_filter')]]);
  const { state } = await walk(createReactAgent({ model }), asked);
  t.is(textOf(state.context.at(-1) ?? user('')), 'The first');
});

const schema = { type: 'object', properties: { mood: { type: 'string' } }, required: ['mood'] } as const;

const judge = async (...parts: readonly AnswerPart[]): Promise<unknown> => {
  const graph = new StateGraph({ verdict: field<object>({ type: 'object', default: {} }) })
    .addNode('judge', outputNode({ model: fakeModel([parts]), field: 'verdict', schema }))
    .addEdge(START, 'judge')
    .compile();
  return (await walk(graph, asked)).state.values['verdict'];
};

test('an answer of a schema that was cut is not written, also where it is a value', async (t) => {
  const whole = text('{"mood":"good"}');
  await t.throwsAsync(judge(whole, finish('length')), { message: /the answer of the model reached its length limit$/ });
  await t.throwsAsync(judge(whole, finish('content_filter')), { message: /filtered the content$/ });
  await t.throwsAsync(judge(text(''), finish('length')), { message: /before it said anything$/ });
  t.deepEqual(await judge(whole, finish('unknown')), { mood: 'good' });
});

for (const [title, answer] of [
  ['in a code fence', '```json\n{"mood":"good"}\n```'],
  ['in a code fence without a language, that is not closed', '\n```\n{"mood":"good"}'],
  ['behind a byte order mark, and before white space', '\uFEFF{"mood":"good"}\n\n'],
  [
    'in a code fence with words around it, which hold brackets',
    'As {asked}:\n```JSON\n{"mood":"good"}\n```\nIs {it} fine?',
  ],
  ['with words around it', 'Here it is: {"mood":"good"}. Fine?'],
  ['behind what the model thought', '<think>\n{"mood":"bad"}? No.\n</think>\n\n{"mood":"good"}'],
] as const)
  test(`an answer of a schema may stand ${title}`, async (t) => {
    t.deepEqual(await judge(text(answer)), { mood: 'good' });
  });

test('code fences within a value are part of it, and of two values none is taken', async (t) => {
  const mood = 'As ```json\n{"mood":"bad"}\n``` says';
  t.deepEqual(await judge(text(JSON.stringify({ mood }))), { mood });
  t.deepEqual(await judge(text(`\`\`\`json\n${JSON.stringify({ mood })}\n\`\`\``)), { mood });
  await t.throwsAsync(judge(text('{"mood":"good"} or {"mood":"bad"}')), { message: /did not answer with JSON/ });
  await t.throwsAsync(judge(text('```json\n{"mood":"go')), { message: /did not answer with JSON/ });
});

test('a long answer that holds no JSON is read once', async (t) => {
  await t.throwsAsync(judge(text('```{<think>'.repeat(200_000))), { message: /did not answer with JSON/ });
});
