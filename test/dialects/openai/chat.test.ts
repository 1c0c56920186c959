import test from 'ava';
import OpenAI from 'openai';
import type { ChatCompletionChunk, ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { until } from '../../until.ts';
import { camera, serveOpenai, user } from './service.ts';

const service = serveOpenai(test);

test('agents are models, and one that is absent is 404 with the code that clients know', async (t) => {
  const client = service.client();
  const names: string[] = [];
  for await (const { id, object } of client.models.list()) names.push(`${object} ${id}`);
  t.is(names[0], 'model obedient');
  t.is((await client.models.retrieve('recorded')).id, 'recorded');
  const error = await t.throwsAsync<InstanceType<typeof OpenAI.NotFoundError>>(client.models.retrieve('gpt-9'));
  t.true(error instanceof OpenAI.NotFoundError);
  t.like(error, { status: 404, code: 'model_not_found', param: 'model', type: 'invalid_request_error' });
});

test('a completion has every field of one', async (t) => {
  const made = await service.client().chat.completions.create({ model: 'obedient', messages: [user('hello')] });
  t.regex(made.id, /^chatcmpl-[0-9a-f]{32}$/);
  t.like(made, { object: 'chat.completion', model: 'obedient', service_tier: 'default' });
  t.true(Math.abs(made.created - Date.now() / 1000) < 600);
  t.deepEqual(made.choices as unknown, [
    {
      index: 0,
      message: { role: 'assistant', content: 'you said hello', refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop',
    },
  ]);
  t.is(made.usage?.total_tokens, 0);
});

/** The chunks of a stream as the client gives them. */
async function chunksOf(body: object): Promise<ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  const given = { model: 'obedient', messages: [user('hello')], ...body, stream: true as const };
  for await (const chunk of await service.client().chat.completions.create(given)) chunks.push(chunk);
  return chunks;
}

const contentOf = (chunks: readonly ChatCompletionChunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

test('a stream begins with the role, ends with a reason, and counts tokens only where it is asked to', async (t) => {
  const plain = await chunksOf({});
  t.deepEqual(plain[0]?.choices[0]?.delta as unknown, { role: 'assistant', content: '', refusal: null });
  t.is(contentOf(plain), 'you said hello');
  t.is(plain.at(-1)?.choices[0]?.finish_reason, 'stop');
  t.true(plain.every((chunk) => !('usage' in chunk) && chunk.choices.length === 1));
  t.is(new Set(plain.map(({ id, created }) => `${id} ${String(created)}`)).size, 1);
  const counted = await chunksOf({ stream_options: { include_usage: true } });
  t.deepEqual(counted.at(-1)?.choices, []);
  t.is(counted.at(-1)?.usage?.total_tokens, 0);
  t.true(counted.slice(0, -1).every(({ usage }) => usage === null));
});

test('the tokens of all models that the agent asked are counted', async (t) => {
  const given = { model: 'reporting', messages: [user('hello')] };
  const { usage } = await service.client().chat.completions.create(given);
  t.like(usage, { prompt_tokens: 125, completion_tokens: 13, total_tokens: 138 });
  const response = await service.client().responses.create({ model: 'reporting', input: 'hello' });
  t.like(response.usage, { input_tokens: 125, output_tokens: 13, total_tokens: 138 });
  const counted = await chunksOf({ ...given, stream_options: { include_usage: true } });
  t.deepEqual(counted.at(-1)?.usage, usage);
});

test('a stream is text after data lines, and ends with [DONE]', async (t) => {
  const reply = await fetch(`${service.url()}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'obedient', messages: [user('hello')], stream: true }),
  });
  t.is(reply.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const lines = (await reply.text()).split('\n\n').filter(Boolean);
  t.true(lines.every((line) => line.startsWith('data: ')));
  t.is(lines.at(-1), 'data: [DONE]');
});

test("a caller's function is called, and its result goes on where the agent stood, whole and streamed", async (t) => {
  const client = service.client();
  const messages: ChatCompletionMessageParam[] = [user('call look')];
  const asked = await client.chat.completions.create({ model: 'obedient', messages, tools: [camera] });
  const [choice] = asked.choices;
  t.is(choice?.finish_reason, 'tool_calls');
  t.is(choice?.message.content, null);
  const [call] = choice?.message.tool_calls ?? [];
  t.like(call, { type: 'function', function: { name: 'look', arguments: '{"at":"noon"}' } });
  const result = { role: 'tool' as const, tool_call_id: call?.id ?? '', content: 'a cat' };
  if (choice) messages.push(choice.message, result);
  const answered = await client.chat.completions.create({ model: 'obedient', messages, tools: [camera] });
  t.is(answered.choices[0]?.message.content, 'thank you');
  // The same conversation again finds nothing that waits, and is one of its own.
  const again = await client.chat.completions.create({ model: 'obedient', messages, tools: [camera] });
  t.is(again.choices[0]?.message.content, 'thank you');

  const chunks = await chunksOf({ messages: [user('call look')], tools: [camera] });
  const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
  t.deepEqual(
    deltas.map(({ index, id, function: named }) => [index, id !== undefined, named?.name, named?.arguments]),
    [
      [0, true, 'look', ''],
      [0, false, undefined, '{"at":"noon"}'],
    ],
  );
  t.is(chunks.at(-1)?.choices[0]?.finish_reason, 'tool_calls');
});

test("the client's own helper runs tools to the end, and gathers a stream", async (t) => {
  const client = service.client();
  const seen: unknown[] = [];
  const runner = client.chat.completions.runTools({
    model: 'obedient',
    messages: [user('call look')],
    tools: [
      {
        type: 'function',
        function: {
          ...camera.function,
          parse: (text: string) => JSON.parse(text) as object,
          function: (args: object) => {
            seen.push(args);
            return 'a cat';
          },
        },
      },
    ],
  });
  t.is(await runner.finalContent(), 'thank you');
  t.deepEqual(seen, [{ at: 'noon' }]);
  const stream = client.chat.completions.stream({ model: 'typing', messages: [user('hello')] });
  const whole = await stream.finalChatCompletion();
  t.truthy(whole.choices[0]?.message.content);
});

test('a question is a function call, and its result the answer, whole and with another turn behind it', async (t) => {
  const client = service.client();
  const messages: ChatCompletionMessageParam[] = [user('ask')];
  const asked = await client.chat.completions.create({ model: 'recorded', messages });
  const [choice] = asked.choices;
  const [call] = choice?.message.tool_calls ?? [];
  t.like(call, { function: { name: 'answer_question' } });
  t.deepEqual(call?.type === 'function' ? (JSON.parse(call.function.arguments) as unknown) : undefined, {
    question: { question: 'go on?', options: ['yes', 'no'] },
  });
  if (choice) messages.push(choice.message, { role: 'tool', tool_call_id: call?.id ?? '', content: 'yes' });
  const answered = await client.chat.completions.create({ model: 'recorded', messages });
  t.is(answered.choices[0]?.message.content, 'you said yes');
});

test('a thread that the caller names is kept, and gets what is new of the conversation', async (t) => {
  const client = service.client();
  const metadata = { thread_id: 'kept', team: 'blue' };
  const first = [user('hello')];
  await client.chat.completions.create({ model: 'obedient', messages: first, metadata });
  const more = [...first, { role: 'assistant' as const, content: 'you said hello' }, user('again')];
  await client.chat.completions.create({ model: 'obedient', messages: more, metadata });
  const reply = await fetch(`${service.url()}/v1/threads/kept/messages`);
  const { data } = (await reply.json()) as { data: { messages: { role: string }[] } };
  t.deepEqual(
    data.messages.map(({ role }) => role),
    ['user', 'assistant', 'user', 'assistant'],
  );
});

test('a busy thread is waited for, and nothing is refused', async (t) => {
  const client = service.client();
  const metadata = { thread_id: 'busy' };
  const all = await Promise.all(
    Array.from({ length: 4 }, (_, index) =>
      client.chat.completions.create({ model: 'obedient', messages: [user(`turn ${String(index)}`)], metadata }),
    ),
  );
  t.deepEqual(
    all.map(({ choices }) => choices[0]?.message.content),
    [0, 1, 2, 3].map((index) => `you said turn ${String(index)}`),
  );
});

for (const [param, body] of Object.entries({
  n: { n: 2 },
  logprobs: { logprobs: true },
  audio: { audio: { voice: 'a', format: 'wav' } },
  modalities: { modalities: ['text', 'audio'] },
  functions: { functions: [{ name: 'look' }] },
  store: { store: true },
  tool_choice: { tools: [camera], tool_choice: 'required' },
  'tools[0].type': { tools: [{ type: 'custom', custom: { name: 'x' } }] },
  'response_format.type': { response_format: { type: 'grammar' } },
  service_tier: { service_tier: 'flex' },
  'messages[0].content[0].type': { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
}))
  test(`what no agent can do is refused by its name: ${param}`, async (t) => {
    const given = { model: 'obedient', messages: [user('hello')], ...body } as never;
    const error = await t.throwsAsync(service.client().chat.completions.create(given));
    t.true(error instanceof OpenAI.BadRequestError);
    t.like(error, { status: 400, code: 'unsupported_parameter', param, type: 'invalid_request_error' });
  });

/** An answer of the assistant that calls a function. */
const calling = (named: object): object => ({
  role: 'assistant',
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}', ...named } }],
});

for (const [param, body, code] of [
  ['temprature', { temprature: 1 }, 'unknown_parameter'],
  ['messages', { messages: [] }, 'invalid_value'],
  ['messages[0].role', { messages: [{ role: 'robot', content: 'x' }] }, 'invalid_value'],
  ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }, 'invalid_value'],
  ['model', { model: 'gpt-9' }, 'model_not_found'],
  ['tools[0].function.name', { tools: [{ ...camera, function: { name: 'clock' } }], model: 'typing' }, 'invalid_value'],
  ['messages[0].tool_calls[0].function.name', { messages: [calling({ name: '' })] }, 'invalid_value'],
  ['messages[0].tool_calls[0].function.arguments', { messages: [calling({ arguments: 7 })] }, 'invalid_value'],
] as const)
  test(`what is wrong is named: ${param} ${code}`, async (t) => {
    const given = { model: 'obedient', messages: [user('hello')], ...body } as never;
    const error = await t.throwsAsync(service.client().chat.completions.create(given));
    t.like(error, { code, param, type: 'invalid_request_error' });
  });

test('a run that fails is an error that is not sent again, in a reply and in a stream', async (t) => {
  const runs = async (): Promise<number> => {
    const reply = await fetch(`${service.url()}/v1/runs?status=failed&limit=100`);
    return ((await reply.json()) as { data: { runs: unknown[] } }).data.runs.length;
  };
  const before = await runs();
  const given = { model: 'obedient', messages: [user('fail')] };
  const error = await t.throwsAsync(service.client({ maxRetries: 2 }).chat.completions.create(given));
  t.true(error instanceof OpenAI.InternalServerError);
  t.like(error, { status: 500, type: 'server_error', code: 'node_error' });
  t.is(await runs(), before + 1);
  const streamed = await t.throwsAsync(chunksOf({ messages: [user('fail')] }));
  t.true(streamed instanceof OpenAI.APIError);
});

test('what a request asks of a model is given to the agent', async (t) => {
  const given = { model: 'configured', messages: [user('hello')], temperature: 0.5, seed: 7 };
  const { choices } = await service.client().chat.completions.create(given);
  t.regex(choices[0]?.message.content ?? '', /"openai":\{"temperature":0.5,"seed":7\}/);
});

test('a run whose caller leaves is stopped, as nobody could read it', async (t) => {
  const controller = new AbortController();
  const given = { model: 'recorded', messages: [user('slow')], stream: true as const };
  await service.client().chat.completions.create(given, { signal: controller.signal });
  const running = async (status: string): Promise<unknown[]> => {
    const reply = await fetch(`${service.url()}/v1/runs?agent=recorded&status=${status}`);
    return ((await reply.json()) as { data: { runs: unknown[] } }).data.runs;
  };
  await until(async () => (await running('running')).length === 1);
  controller.abort();
  await until(async () => (await running('stopped')).length === 1);
  t.pass();
});

test('system and developer messages, images and names reach the agent as they are', async (t) => {
  const messages: ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
    {
      role: 'user',
      name: 'ada',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } },
      ],
    },
  ];
  await service.client().chat.completions.create({ model: 'obedient', messages, metadata: { thread_id: 'parts' } });
  const reply = await fetch(`${service.url()}/v1/threads/parts/messages`);
  const { data } = (await reply.json()) as {
    data: { messages: { role: string; content: unknown; metadata?: unknown }[] };
  };
  t.deepEqual(
    data.messages.slice(0, 3).map(({ role, content }) => [role, content]),
    [
      ['system', [{ type: 'text', text: 'Be brief.' }]],
      ['system', [{ type: 'text', text: 'Be kind.' }]],
      ['user', messages[2]?.content],
    ],
  );
  t.deepEqual(data.messages[2]?.metadata, { name: 'ada' });
});
