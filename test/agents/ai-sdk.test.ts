import { inspect } from 'node:util';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createReactAgent, textOf, tool, type AnswerPart, type ModelQuestion } from '@agent-workflow/graph';
import { aiSdkModel, type AiSdkModelOptions } from '@agent-workflow/graph/ai-sdk';
import { user, walk } from '@agent-workflow/graph/testing';
import test, { type ExecutionContext } from 'ava';
import { startOpenaiChat, type OpenaiChat, type ScriptedReply } from '../servers/openai-chat.ts';

const apiKey = 'sk-very-secret';

const modelAt = (baseURL: string, options?: AiSdkModelOptions) =>
  aiSdkModel(
    createOpenAICompatible({ name: 'local', baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true })(
      'small-1',
    ),
    options,
  );

async function serve(t: ExecutionContext, ...replies: readonly ScriptedReply[]): Promise<OpenaiChat> {
  const server = await startOpenaiChat(replies);
  t.teardown(() => server[Symbol.asyncDispose]());
  return server;
}

const question: ModelQuestion = { instructions: 'Be brief.', messages: [user('Hello')], tools: [] };

const answerOf = async (
  server: OpenaiChat,
  options?: AiSdkModelOptions,
  asked: ModelQuestion = question,
): Promise<AnswerPart[]> =>
  Array.fromAsync(modelAt(server.baseUrl, options).answer(asked, new AbortController().signal));

test('the text and the tokens of a model of the AI SDK are streamed', async (t) => {
  const server = await serve(t, { text: 'Good day to you', usage: { prompt_tokens: 12, completion_tokens: 4 } });
  t.deepEqual(await answerOf(server, { parameters: { temperature: 0 } }), [
    ...['Good', ' day', ' to', ' you'].map((text) => ({ type: 'text', text }) as const),
    { type: 'usage', model: 'small-1', inputTokens: 12, outputTokens: 4 },
    { type: 'finish', reason: 'stop' },
  ]);
  const [request] = server.requests;
  t.is(request?.authorization, `Bearer ${apiKey}`);
  t.is(request?.body.temperature, 0);
  t.like(request?.body.messages[0], { role: 'system', content: 'Be brief.' });
});

test('an agent on the AI SDK runs the tools that its model calls', async (t) => {
  const server = await serve(
    t,
    { text: 'Let me see.', calls: [{ id: 'call_1', name: 'add', json: '{"a":2,"b":3}' }] },
    { text: 'It is 5.' },
  );
  const number = { type: 'number' } as const;
  const parameters = { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] } as const;
  const add = tool({ name: 'add', description: 'Adds.', parameters }, ({ a, b }) => a + b);
  const graph = createReactAgent({ model: modelAt(server.baseUrl), tools: [add] });
  const { state } = await walk(graph, { context: [user('What is 2 + 3?')] });
  t.deepEqual(state.context.map(textOf), ['What is 2 + 3?', 'Let me see.', '', 'It is 5.']);
  t.is(server.requests[0]?.body.tools?.[0]?.function.name, 'add');
  const [, call, result] = server.requests[1]?.body.messages ?? [];
  t.like(call, { role: 'assistant', content: 'Let me see.' });
  t.like(call?.tool_calls?.[0], { id: 'call_1', function: { name: 'add', arguments: '{"a":2,"b":3}' } });
  t.like(result, { role: 'tool', tool_call_id: 'call_1', content: '5' });
});

test('a question with a schema asks for JSON of that schema', async (t) => {
  const schema = { type: 'object', properties: { mood: { type: 'string' } } };
  const server = await serve(t, { text: '{}' });
  await answerOf(server, {}, { ...question, schema });
  t.like(server.requests[0]?.body.response_format, { type: 'json_schema', json_schema: { name: 'answer', schema } });
});

const busy = (status: number): readonly ScriptedReply[] => Array<ScriptedReply>(3).fill({ status });

const failures: readonly (readonly [title: string, replies: readonly ScriptedReply[], message: string])[] = [
  ['a key that is refused', [{ status: 401 }], 'the model refused the key (401): check apiKey'],
  ['a busy model', busy(429), 'the model is busy or its quota is used up (429): try again later'],
  ['a failing model', busy(503), 'the model failed (503)'],
  ['a cut connection', [{ breaksOff: 'connection' }], 'the model broke off its answer'],
  ['a stream that ends early', [{ breaksOff: 'stream' }], 'the model broke off its answer'],
];

for (const [title, replies, message] of failures) {
  test(`${title} fails without a word of the key, the address or the reply`, async (t) => {
    const server = await serve(t, ...replies);
    const error = await t.throwsAsync(answerOf(server), { message });
    t.notRegex(inspect(error, { depth: 10, showHidden: true }), /secret|127\.0\.0\.1|refused Bearer/);
    t.is(server.requests.length, replies.length);
  });
}

test('a model that cannot be reached fails without its address', async (t) => {
  const server = await startOpenaiChat([]);
  await server[Symbol.asyncDispose]();
  const error = await t.throwsAsync(answerOf(server), { message: 'the model cannot be reached: check baseUrl' });
  t.notRegex(inspect(error, { depth: 10, showHidden: true }), /secret|127\.0\.0\.1/);
});

test('a model that is busy for a moment is asked again', async (t) => {
  const server = await serve(t, { status: 429 }, { text: 'Here' });
  t.deepEqual((await answerOf(server))[0], { type: 'text', text: 'Here' });
  t.is(server.requests.length, 2);
});

test('an answer ends with its timeout, and with the signal of the run', async (t) => {
  const late = await serve(t, { breaksOff: 'never' });
  await t.throwsAsync(answerOf(late, { timeoutMs: 50 }), { message: 'the model took too long to answer' });
  const stopped = await serve(t, { breaksOff: 'never' });
  const stop = new AbortController();
  const answer = modelAt(stopped.baseUrl).answer(question, stop.signal);
  await t.throwsAsync(
    async () => {
      for await (const _part of answer) stop.abort(new Error('the run is stopped'));
    },
    { message: 'the run is stopped' },
  );
  await stopped.abandoned;
});
