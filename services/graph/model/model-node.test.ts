import { textOf } from '@agent-workflow/protos/message';
import test from 'ava';
import { z } from 'zod';
import { StateGraph } from '../build/graph.ts';
import { END, START } from '../build/names.ts';
import { tool } from '../build/tool.ts';
import { field } from '../state/field.ts';
import { fakeModel, user, walk } from '../testing.ts';
import { modelNode, type ModelState } from './model-node.ts';
import { outputNode } from './output-node.ts';
import { chatModel } from './chat-model.ts';
import type { Model } from './model.ts';
import { createReactAgent } from './react-agent.ts';

const add = tool(
  {
    name: 'add',
    description: 'Adds two numbers.',
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  },
  ({ a, b }) => a + b,
);

test('an agent asks its model, runs the tools that it calls, and asks again with their results', async (t) => {
  const model = fakeModel([{ call: 'add', args: { a: 2, b: 3 } }, 'It is 5.']);
  const graph = createReactAgent({ model, instructions: 'Be brief.', tools: [add] });
  const { state, steps } = await walk(graph, { context: [user('What is 2 + 3?')] });
  t.deepEqual(steps, [['agent'], ['tools'], ['agent']]);
  t.deepEqual(state.context.map(textOf), ['What is 2 + 3?', '', '', 'It is 5.']);
  t.is(state.context[2]?.content[0]?.['output'], 5);
  const [first, second] = model.questions;
  t.like(first, { instructions: 'Be brief.' });
  t.deepEqual(
    first?.tools.map(({ name }) => name),
    ['add'],
  );
  t.is(second?.messages.length, 3);
});

test('the request of a run may ask for an answer that is JSON of a schema', async (t) => {
  const model = fakeModel(() => '{"city":"Paris"}');
  const graph = createReactAgent({ model, tools: [add] });
  const schema = { type: 'object', properties: { city: { type: 'string' } } };
  await walk(graph, { context: [user('?')], run: { config: { output_schema: schema } } });
  await walk(graph, { context: [user('?')], run: { config: { output_schema: 'none' } } });
  t.deepEqual(
    model.questions.map((question) => question.schema),
    [schema, undefined],
  );
});

test('a node may call the tools that it names only, and reads what was removed as a summary', async (t) => {
  const model = fakeModel(() => 'Yes.');
  const graph = new StateGraph({ name: field<string>({ type: 'string', default: 'Ada' }) })
    .addNode(
      'ask',
      modelNode<ModelState & { readonly name: string }>({
        model,
        tools: ['add'],
        instructions: ({ name }) => `You speak with ${name}.`,
      }),
    )
    .addNode('note', () => ({ context_summary: 'They met.' }))
    .addEdge(START, 'note')
    .addEdge('note', 'ask')
    .addEdge('ask', END)
    .compile();
  const other = { name: 'other', description: 'Another', parameters: { type: 'object' } };
  await walk(graph, { context: [user('?')], run: { tools: [add, other] } });
  t.is(model.questions[0]?.instructions, 'You speak with Ada.\n\nWhat was said before: They met.');
  t.deepEqual(
    model.questions[0]?.tools.map(({ name }) => name),
    ['add'],
  );
});

test('an answer of a schema is written into its field, and one that breaks it fails the node', async (t) => {
  const schema = { type: 'object', properties: { mood: { enum: ['good', 'bad'] } }, required: ['mood'] };
  const graphOf = (answer: string) =>
    new StateGraph({ verdict: field<object>({ type: 'object', default: {} }) })
      .addNode('judge', outputNode({ model: fakeModel([answer]), field: 'verdict', schema }))
      .addEdge(START, 'judge')
      .addEdge('judge', END)
      .compile();
  const { state } = await walk(graphOf('{"mood":"good"}'), { context: [user('Fine day!')] });
  t.deepEqual(state.values['verdict'], { mood: 'good' });
  await t.throwsAsync(walk(graphOf('{"mood":"odd"}')), { message: /breaks its schema: answer\/mood/ });
  await t.throwsAsync(walk(graphOf('good')), { message: /did not answer with JSON/ });
});

test('a schema of a validation library checks and transforms an answer', async (t) => {
  const schema = z.object({ mood: z.string().trim(), at: z.string().refine((at) => at !== 'never', 'is no time') });
  const graphOf = (answer: string) =>
    new StateGraph({ verdict: field<object>({ type: 'object', default: {} }) })
      .addNode('judge', outputNode({ model: fakeModel([answer]), field: 'verdict', schema }))
      .addEdge(START, 'judge')
      .addEdge('judge', END)
      .compile();
  const { state } = await walk(graphOf('{"mood":" good ","at":"noon"}'));
  t.deepEqual(state.values['verdict'], { mood: 'good', at: 'noon' });
  await t.throwsAsync(walk(graphOf('{"mood":"good","at":"never"}')), { message: /answer\/at: is no time/ });
  await t.throwsAsync(walk(graphOf('{}')), { message: /answer\/mood: Invalid input: expected string/ });
});

test('a fake model that has no answer left fails the run, and one that fails fails it in its own words', async (t) => {
  await t.throwsAsync(walk(createReactAgent({ model: fakeModel([]) }), { context: [user('?')] }), {
    message: /no answer number 1/,
  });
  const broken = createReactAgent({ model: fakeModel([new Error('the model is busy')]) });
  await t.throwsAsync(walk(broken, { context: [user('?')] }), { message: /the model is busy/ });
});

test('the nodes that ask a model report the tokens that it counts, also of an answer that is refused', async (t) => {
  const count = (inputTokens: number) => ({ type: 'usage', model: 'm', inputTokens, outputTokens: 1 }) as const;
  const model = fakeModel([
    [{ type: 'text', text: 'not JSON' }, count(1000)],
    [{ type: 'text', text: '{"mood":"good"}' }, count(200)],
    [{ type: 'text', text: 'Fine.' }, count(30)],
    [count(4)],
  ]);
  const schema = { type: 'object', properties: { mood: { enum: ['good', 'bad'] } }, required: ['mood'] } as const;
  const graph = new StateGraph({ mood: field<unknown>({ type: 'object', default: {} }) })
    .addNode('judge', outputNode({ model, field: 'mood', schema }), { retry: { maxAttempts: 2, initialDelayMs: 0 } })
    .addNode('answer', modelNode({ model }))
    .addNode('agent', createReactAgent({ model }))
    .addEdge(START, 'judge')
    .addEdge('judge', 'answer')
    .addEdge('answer', 'agent')
    .compile();
  const { usage } = await walk(graph, { context: [user('How are you?')] });
  t.deepEqual(usage, [{ model: 'm', inputTokens: 1234, outputTokens: 4 }]);
});

for (const [what, make, message] of [
  [
    'an agent with an option that it does not have',
    () => createReactAgent({ llm: fakeModel([]), prompt: 'Be brief.' } as never),
    'what createReactAgent is given has llm, which is none of model, instructions, tools, policy',
  ],
  [
    'an agent without a model',
    () => createReactAgent({} as never),
    'the model of createReactAgent must be one as chatModel() or aiSdkModel() makes it, not undefined',
  ],
  [
    'an agent whose tools are no list',
    () => createReactAgent({ model: fakeModel([]), tools: add as never }),
    'tools of createReactAgent must be a list of tools, not object',
  ],
  [
    'a model node with the promise of a model',
    () => modelNode({ model: Promise.resolve(fakeModel([])) as never }),
    'the model of modelNode must be one as chatModel() or aiSdkModel() makes it, not promise',
  ],
  [
    'a model node with an option that it does not have',
    () => modelNode({ model: fakeModel([]), prompt: 'Be brief.' } as never),
    'what modelNode is given has prompt, which is none of model, instructions, tools',
  ],
  [
    'an output node with an option that it does not have',
    () => outputNode({ model: fakeModel([]), field: 'x', schema: { type: 'object' }, tools: [] } as never),
    'what outputNode is given has tools, which is none of model, instructions, field, schema',
  ],
  [
    'an output node without a model',
    () => outputNode({ field: 'x', schema: { type: 'object' } } as never),
    'the model of outputNode must be one as chatModel() or aiSdkModel() makes it, not undefined',
  ],
] as const)
  test(`${what} is refused when it is made`, (t) => {
    t.throws(make, { message });
  });

for (const [what, build, fault] of [
  [
    'an agent of nothing',
    () => createReactAgent(undefined as never),
    'what createReactAgent is given must be an object',
  ],
  ['a chat model of nothing', () => chatModel(undefined as never), 'what chatModel is given must be an object'],
  [
    'a chat model without the name of a model',
    () => chatModel({} as never),
    'model of chatModel must be the name of a model at its provider, not undefined',
  ],
  [
    'a chat model whose name is empty',
    () => chatModel({ model: '' }),
    'model of chatModel must be the name of a model at its provider, not an empty text',
  ],
  [
    'a chat model with an option in the spelling of others',
    () => chatModel({ model: 'm', baseURL: 'http://127.0.0.1:1/v1' } as never),
    'what chatModel is given has baseURL, which is none of model, baseUrl, apiKey, headers, parameters, inputModalities, stream, timeoutMs, names: is baseUrl meant?',
  ],
  [
    'a chat model with a parameter beside the parameters',
    () => chatModel({ model: 'm', temperature: 0 } as never),
    'what chatModel is given has temperature, which is none of model,',
  ],
  [
    'a chat model whose address is none',
    () => chatModel({ model: 'm', baseUrl: 'api.example.com/v1' }),
    'baseUrl of chatModel must be an address as https://api.openai.com/v1',
  ],
  [
    'a chat model with a header that is not set',
    () => chatModel({ model: 'm', headers: { 'x-team': undefined } as never }),
    'headers.x-team of chatModel must be a text, not undefined',
  ],
  [
    'a chat model whose key cannot be sent',
    () => chatModel({ model: 'm', apiKey: 'sk-secret\nx' }),
    'apiKey of chatModel cannot be sent as a header',
  ],
  ['a model node of nothing', () => modelNode(undefined as never), 'what modelNode is given must be an object'],
  ['an output node of nothing', () => outputNode(undefined as never), 'what outputNode is given must be an object'],
  [
    'an output node without a schema',
    () => outputNode({ model: fakeModel([]), field: 'x' } as never),
    'the schema of outputNode must be an object, not undefined',
  ],
  [
    'an agent with a message as its instructions',
    () => createReactAgent({ model: fakeModel([]), instructions: user('Be brief.') as never }),
    'the instructions of createReactAgent must be a text or a function that gives one, not object',
  ],
  [
    'an agent with a policy of null',
    () => createReactAgent({ model: fakeModel([]), policy: null as never }),
    'the policy of node "agent" must be an object, not null',
  ],
] as const)
  test(`${what} is refused when it is made`, (t) => {
    const error = t.throws(build as () => unknown);
    t.true(error.message.startsWith(fault), error.message);
  });

test('an answer that is no stream of parts fails the node, which would take it for an answer of nothing', async (t) => {
  const stream = 'the model must give its answer as an async iterable of parts, not';
  const part = "a part of the model's answer must be an object as { type: 'text', text }, not";
  for (const [answer, fault] of [
    [() => 'Hello', `${stream} string`],
    [() => undefined, `${stream} undefined`],
    [() => Promise.resolve('Hello'), `${stream} promise`],
    [() => Promise.reject(new Error('later')), `${stream} promise`],
    [() => ['Hello'], `${part} string`],
    [() => ReadableStream.from([{ type: 'text', text: 'He' }, null]), `${part} null`],
  ] as const) {
    const model = { answer } as unknown as Model;
    const message = `node "agent" failed: ${fault}`;
    await t.throwsAsync(walk(createReactAgent({ model })), { message });
  }
});
