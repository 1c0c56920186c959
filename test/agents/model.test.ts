import { inspect } from 'node:util';
import { chatModel, createReactAgent, tool, type CompiledGraph } from '@agent-workflow/graph';
import { isRunFailure, shownOf } from '@agent-workflow/graph/state/failure';
import test, { type ExecutionContext } from 'ava';
import { startOpenaiChat, type OpenaiChat, type ScriptedReply } from '../servers/openai-chat.ts';
import { converse, type Conversation } from './drive.ts';

const apiKey = 'sk-very-secret';

const textOfName = (name: string) =>
  ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] }) as const;

const calculate = tool(
  { name: 'calculate', description: 'Works out an expression.', parameters: textOfName('expression') },
  () => 42,
);

const remember = tool(
  { name: 'remember', description: 'Keeps a fact.', parameters: textOfName('fact') },
  async ({ fact }, { memory }) => {
    await memory.store({ content: String(fact) });
    return { remembered: fact };
  },
);

/** An agent whose model is at this address. */
const agentAt = (baseUrl: string): CompiledGraph =>
  createReactAgent({
    model: chatModel({
      ...{ baseUrl, apiKey, model: 'small-1' },
      names: { apiKey: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL', model: 'MODEL' },
    }),
    instructions: 'Be brief.',
    tools: [calculate, remember],
  });

/** A conversation with an agent whose model gives these replies. */
async function withModel(
  t: ExecutionContext,
  ...replies: ScriptedReply[]
): Promise<{ readonly talk: Conversation; readonly server: OpenaiChat }> {
  const server = await startOpenaiChat(replies);
  const talk = await converse(agentAt(server.baseUrl));
  t.teardown(async () => {
    await talk[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return { talk, server };
}

test("the model's words stream through", async (t) => {
  const { talk, server } = await withModel(t, { text: 'Good day to you.' });
  const { reply, chunks } = await talk.send('Hello');
  t.deepEqual(reply, ['Good day to you.']);
  t.deepEqual(chunks, ['Good', ' day', ' to', ' you.']);
  const [request] = server.requests;
  t.is(request?.authorization, `Bearer ${apiKey}`);
  t.like(request?.body, { model: 'small-1', stream: true });
  t.deepEqual(request?.body.messages.at(-1), { role: 'user', content: 'Hello' });
  t.deepEqual(
    request?.body.tools?.map((tool) => tool.function.name),
    ['calculate', 'remember'],
  );
});

test('calls made at once are run, and the model is told their results', async (t) => {
  const { talk, server } = await withModel(
    t,
    {
      text: 'Let me see.',
      calls: [
        { id: 'call_1', name: 'calculate', json: '{"expression":"6 * 7"}' },
        { id: 'call_2', name: 'remember', json: '{"fact":"The user likes sencha"}' },
      ],
    },
    { text: 'It is 42.' },
  );
  const { reply, messages } = await talk.send('What is 6 * 7? And I like sencha.');
  t.deepEqual(reply, ['Let me see.', 'It is 42.']);
  t.is(messages.length, 4);
  t.deepEqual(server.requests[1]?.body.messages.slice(2), [
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'calculate', arguments: '{"expression":"6 * 7"}' } },
        {
          id: 'call_2',
          type: 'function',
          function: { name: 'remember', arguments: '{"fact":"The user likes sencha"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '42' },
    { role: 'tool', tool_call_id: 'call_2', content: '{"remembered":"The user likes sencha"}' },
  ]);
  t.is((await talk.memory.search('sencha'))[0]?.content, 'The user likes sencha');
});

test('arguments that are no JSON, or break the schema, are told to the model', async (t) => {
  const { talk, server } = await withModel(
    t,
    {
      calls: [
        { id: 'a', name: 'calculate', json: '{"expression": "1 +' },
        { id: 'b', name: 'calculate', json: '' },
      ],
    },
    { text: 'Sorry.' },
  );
  await talk.send('?');
  t.deepEqual(
    server.requests[1]?.body.messages.slice(-2).map(({ content }) => content),
    [
      'Error: arguments must be object: the call is not whole. Nothing was run.',
      "Error: arguments must have required property 'expression'",
    ],
  );
});

test("the model may call the caller's tools, and reads their results", async (t) => {
  const { talk, server } = await withModel(
    t,
    { calls: [{ id: 'where', name: 'get_location', json: '{}' }] },
    { text: 'You are in Porto.' },
  );
  const remoteTools = [{ name: 'get_location', description: 'Where the user is', parameters: { type: 'object' } }];
  const asked = await talk.send('Where am I?', { remoteTools });
  t.true(asked.waiting);
  t.like(asked.messages[0]?.content[0], { type: 'remote_tool_call', id: 'where', name: 'get_location' });
  const answered = await talk.answer({ where: { city: 'Porto' } }, { remoteTools });
  t.deepEqual(answered.reply, ['You are in Porto.']);
  t.is(server.requests[0]?.body.tools?.at(-1)?.function.name, 'get_location');
  t.deepEqual(server.requests[1]?.body.messages.at(-1), {
    role: 'tool',
    tool_call_id: 'where',
    content: '{"city":"Porto"}',
  });
});

const failures: readonly (readonly [title: string, replies: readonly ScriptedReply[], says: RegExp])[] = [
  ['a key that is refused', [{ status: 401 }], /the model refused the key \(401\): check OPENAI_API_KEY$/],
  ['a model that is not there', [{ status: 404 }], /the model is not there \(404\)/],
  ['a busy model', Array<ScriptedReply>(3).fill({ status: 429 }), /the model is busy or its quota is used up \(429\)/],
  ['a failing model', Array<ScriptedReply>(3).fill({ status: 503 }), /the model failed \(503\)$/],
  ['a cut connection', [{ breaksOff: 'connection' }], /the model broke off its answer$/],
  ['a stream that ends early', [{ breaksOff: 'stream' }], /the model broke off its answer$/],
];

for (const [title, replies, expected] of failures) {
  test(`${title} fails the node without a word of the key or the address`, async (t) => {
    const { talk, server } = await withModel(t, ...replies);
    const error = await t.throwsAsync(talk.send('Hello'), { message: /^node "agent" failed: / });
    t.regex(error.message, expected);
    t.notRegex(inspect(error, { depth: 10 }), /secret|127\.0\.0\.1/);
    t.is(server.requests.length, replies.length);
  });
}

test('why a provider refused is in the error that is logged, without the key and the question, and callers get a reason and a parameter', async (t) => {
  const error = {
    message: `Unsupported parameter: 'temperature' does not go with "my pin is Ananas42", key ${apiKey}`,
    type: 'invalid_request_error',
    param: 'temperature',
    code: 'unsupported_parameter',
  };
  const { talk } = await withModel(t, { status: 400, error });
  const failure = await t.throwsAsync(talk.send('my pin is Ananas42'));
  if (!isRunFailure(failure)) return void t.fail();
  const text = 'node "agent" failed: the model refused the parameter temperature (400)';
  t.deepEqual(shownOf(failure), { text, reason: 'refused_by_provider', parameter: 'temperature' });
  const logged = inspect(failure, { depth: 10 });
  t.regex(
    logged,
    /unsupported_parameter: invalid_request_error: temperature: Unsupported parameter: 'temperature' does not/,
  );
  t.notRegex(logged, /ananas|pin|secret/i);
});

test('a model that is busy for a moment is asked again', async (t) => {
  const { talk, server } = await withModel(t, { status: 429 }, { text: 'Here I am.' });
  t.deepEqual((await talk.send('Hello')).reply, ['Here I am.']);
  t.is(server.requests.length, 2);
});

test('a model that cannot be reached fails the node', async (t) => {
  const server = await startOpenaiChat([]);
  await server[Symbol.asyncDispose]();
  await using talk = await converse(agentAt(server.baseUrl));
  const error = await t.throwsAsync(talk.send('Hello'));
  t.is(error.message, 'node "agent" failed: the model cannot be reached: check OPENAI_BASE_URL');
  t.notRegex(inspect(error, { depth: 10 }), /secret|127\.0\.0\.1/);
});

test('a withheld answer fails the node and says so (azure-search-openai-demo#2076), and a cut call is not made (agent-zero#1836)', async (t) => {
  const { talk } = await withModel(t, { text: '', finish: 'content_filter' });
  await t.throwsAsync(talk.send('?'), {
    message: 'node "agent" failed: the provider of the model filtered the content',
  });
  const cut = { calls: [{ id: 'a', name: 'remember', json: '{"fact":"x"}' }], finish: 'length' };
  const other = await withModel(t, cut, { text: 'Sorry.' });
  t.deepEqual((await other.talk.send('?')).reply, ['', 'Sorry.']);
  t.deepEqual(await other.talk.memory.search('x'), []);
  t.regex(
    String(other.server.requests[1]?.body.messages.at(-1)?.content),
    /^Error: The answer reached its length limit/,
  );
});

test('a cut call of a tool of the caller is not handed to it', async (t) => {
  const { talk } = await withModel(
    t,
    { calls: [{ id: 'a', name: 'get_location', json: '' }], finish: 'length' },
    { text: 'Where are you?' },
  );
  const remoteTools = [{ name: 'get_location', description: 'Where the user is', parameters: { type: 'object' } }];
  const { waiting, messages } = await talk.send('Where am I?', { remoteTools });
  t.false(waiting);
  t.notRegex(JSON.stringify(messages), /remote_tool_call/);
});

test('a stop hangs up on the model in the middle of its answer', async (t) => {
  const { talk, server } = await withModel(t, { breaksOff: 'never' });
  const stop = new AbortController();
  const turn = talk.send('Hello', {
    signal: stop.signal,
    onChunk: () => {
      stop.abort();
    },
  });
  await t.throwsAsync(turn, { name: 'AbortError' });
  await server.abandoned;
  t.is(server.requests.length, 1);
});
