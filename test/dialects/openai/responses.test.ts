import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { until } from '../../until.ts';
import { serveOpenai } from './service.ts';

const service = serveOpenai(test);

/** A function of the caller, as responses have them. */
const camera = {
  type: 'function' as const,
  name: 'look',
  description: 'Looks',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
  strict: false,
};

/** The fields without which strict readers refuse a response. */
const required = [
  ...['id', 'object', 'created_at', 'completed_at', 'status', 'incomplete_details', 'model', 'previous_response_id'],
  ...['instructions', 'output', 'error', 'tools', 'tool_choice', 'truncation', 'parallel_tool_calls', 'text', 'top_p'],
  ...[
    'presence_penalty',
    'frequency_penalty',
    'top_logprobs',
    'temperature',
    'reasoning',
    'usage',
    'max_output_tokens',
  ],
  ...['max_tool_calls', 'store', 'background', 'service_tier', 'metadata', 'safety_identifier', 'prompt_cache_key'],
];

const textOf = ({ output_text: text }: Response): string => text;

/** The call that a response asks for. */
function callIn(t: ExecutionContext, { output }: Response) {
  const call = output.find(({ type }) => type === 'function_call');
  t.truthy(call);
  if (call?.type !== 'function_call') throw new Error('the response has no function call');
  return call;
}

test('a response has every field, is read again as it was, and goes on by its id', async (t) => {
  const client = service.client();
  const given = { model: 'obedient', input: 'hello', metadata: { team: 'blue' }, temperature: 0.5 };
  const made = await client.responses.create({ ...given, instructions: 'Be brief.' });
  t.deepEqual(
    required.filter((name) => !Object.hasOwn(made, name)),
    [],
  );
  t.like(made, { status: 'completed', model: 'obedient', instructions: 'Be brief.', temperature: 0.5, error: null });
  t.deepEqual(made.metadata, { team: 'blue' });
  t.is(textOf(made), 'you said hello');
  t.like(made.usage, { total_tokens: 0, input_tokens_details: { cached_tokens: 0 } });
  t.deepEqual(await client.responses.retrieve(made.id), made);
  const next = await client.responses.create({ model: 'obedient', input: 'again', previous_response_id: made.id });
  t.is(textOf(next), 'you said again');
  t.is(next.previous_response_id, made.id);
  const items = [];
  for await (const item of client.responses.inputItems.list(made.id)) items.push(item);
  t.deepEqual(
    items.map((item) => item.type === 'message' && item.content),
    [[{ type: 'input_text', text: 'hello' }]] as never,
  );
});

async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

test('a stream has numbers from 0 without gaps, whole items, and continues behind any number', async (t) => {
  const client = service.client();
  const events = await eventsOf(await client.responses.create({ model: 'obedient', input: 'hello', stream: true }));
  t.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  );
  const types = events.map(({ type }) => type);
  t.deepEqual(types.slice(0, 4), [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
  ]);
  t.deepEqual(types.slice(-4), [
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  const last = events.at(-1);
  if (last?.type !== 'response.completed') return t.fail();
  const again = await client.responses.retrieve(last.response.id);
  t.deepEqual({ ...again, output_text: undefined }, { ...last.response, output_text: undefined });
  for (const after of [0, 2, events.length - 2]) {
    const rest = await client.responses.retrieve(last.response.id, { stream: true, starting_after: after });
    t.deepEqual(await eventsOf(rest), events.slice(after + 1));
  }
  const whole = await client.responses.retrieve(last.response.id, { stream: true });
  t.deepEqual(await eventsOf(whole), events);
});

test("the client's helper gathers a stream", async (t) => {
  const stream = service.client().responses.stream({ model: 'obedient', input: 'hello' });
  const response = await stream.finalResponse();
  t.is(response.output_text, 'you said hello');
});

test('functions of the caller are called and answered, by the response before or with all items', async (t) => {
  const client = service.client();
  const asked = await client.responses.create({ model: 'obedient', input: 'call look', tools: [camera] });
  const call = callIn(t, asked);
  t.like(call, { name: 'look', arguments: '{"at":"noon"}', status: 'completed' });
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'a cat' };
  const answered = await client.responses.create({
    ...{ model: 'obedient', previous_response_id: asked.id, input: [output], tools: [camera] },
  });
  t.is(textOf(answered), 'thank you');
  const whole = await client.responses.create({
    ...{ model: 'obedient', tools: [camera], store: false },
    input: [{ role: 'user', content: 'call look' }, call, output],
  });
  t.is(textOf(whole), 'thank you');
  const events = await eventsOf(
    await client.responses.create({ model: 'obedient', input: 'call look', tools: [camera], stream: true }),
  );
  t.deepEqual(events.map(({ type }) => type).slice(2), [
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

test('a result that comes without its conversation goes on in it, and takes nothing of it away', async (t) => {
  const client = service.client();
  const { id } = await client.conversations.create({});
  const asked = await client.responses.create({
    model: 'obedient',
    input: 'call look',
    tools: [camera],
    conversation: id,
  });
  const call = callIn(t, asked);
  const answered = await client.chat.completions.create({
    model: 'obedient',
    messages: [
      { role: 'user', content: 'call look' },
      {
        role: 'assistant',
        tool_calls: [{ id: call.call_id, type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: call.call_id, content: 'a cat' },
    ],
  });
  t.is(answered.choices[0]?.message.content, 'thank you');
  const run = answered.id.slice('chatcmpl-'.length).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const reply = await fetch(`${service.url()}/v1/runs/${run}`);
  const { data } = (await reply.json()) as { data: { thread_id: string; resumes: string } };
  t.is(`conv_${data.thread_id.replaceAll('-', '')}`, id);
  const items = [];
  for await (const item of client.conversations.items.list(id, { order: 'asc' })) items.push(item.type);
  t.deepEqual(items, ['message', 'function_call', 'function_call_output', 'message']);
});

test('a question is a function call, and its output the answer', async (t) => {
  const client = service.client();
  const asked = await client.responses.create({ model: 'recorded', input: 'ask' });
  const call = callIn(t, asked);
  t.is(call.name, 'answer_question');
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'yes' };
  const answered = await client.responses.create({
    model: 'recorded',
    previous_response_id: asked.id,
    input: [output],
  });
  t.is(textOf(answered), 'you said yes');
  // Behind a response from which another has gone on, it is answered in a copy, as that response left it.
  const other = await client.responses.create({
    model: 'recorded',
    previous_response_id: asked.id,
    input: [{ ...output, output: 'no' }],
  });
  t.is(textOf(other), 'you said no');
});

test('a response in the background is there at once, is followed, and stops when it is cancelled', async (t) => {
  const client = service.client();
  const begun = await client.responses.create({ model: 'recorded', input: 'slow', background: true });
  t.true(['queued', 'in_progress'].includes(String(begun.status)));
  t.true(begun.background);
  await until(async () => (await client.responses.retrieve(begun.id)).status === 'in_progress');
  const following = await client.responses.retrieve(begun.id, { stream: true });
  const cancelled = await client.responses.cancel(begun.id);
  t.is(cancelled.status, 'cancelled');
  const events = await eventsOf(following);
  t.is(events.at(-1)?.type, 'response.incomplete');
  t.is((await client.responses.cancel(begun.id)).status, 'cancelled');
});

test('a run that fails is a failed response, and an event', async (t) => {
  const client = service.client();
  const failed = await client.responses.create({ model: 'obedient', input: 'fail' });
  t.is(failed.status, 'failed');
  t.is(failed.error?.code, 'server_error');
  const events = await eventsOf(await client.responses.create({ model: 'obedient', input: 'fail', stream: true }));
  t.is(events.at(-1)?.type, 'response.failed');
});

test('a response goes on from an earlier one as that left it', async (t) => {
  const client = service.client();
  const first = await client.responses.create({ model: 'obedient', input: 'one' });
  const second = await client.responses.create({ model: 'obedient', input: 'two', previous_response_id: first.id });
  const other = await client.responses.create({ model: 'obedient', input: 'three', previous_response_id: first.id });
  t.is(textOf(other), 'you said three');
  const threadOf = async (id: string): Promise<string> => {
    const run = id.slice('resp_'.length).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    const reply = await fetch(`${service.url()}/v1/runs/${run}`);
    return ((await reply.json()) as { data: { thread_id: string } }).data.thread_id;
  };
  t.is(await threadOf(first.id), await threadOf(second.id));
  const fork = await threadOf(other.id);
  t.not(fork, await threadOf(first.id));
  const reply = await fetch(`${service.url()}/v1/threads/${fork}/messages`);
  const { data } = (await reply.json()) as { data: { messages: { content: { text: string }[] }[] } };
  t.deepEqual(
    data.messages.map(({ content }) => content[0]?.text),
    ['one', 'you said one', 'three', 'you said three'],
  );
});

test('what is not stored, is deleted, or is of nobody is absent', async (t) => {
  const client = service.client();
  const unkept = await client.responses.create({ model: 'obedient', input: 'hello', store: false });
  const made = await client.responses.create({ model: 'obedient', input: 'hello' });
  await client.responses.delete(made.id);
  for (const id of [unkept.id, made.id, `resp_${'0'.repeat(32)}`, 'nonsense']) {
    const error = await t.throwsAsync(client.responses.retrieve(id));
    t.true(error instanceof OpenAI.NotFoundError, id);
    const next = await t.throwsAsync(
      client.responses.create({ model: 'obedient', input: 'x', previous_response_id: id }),
    );
    t.like(next, { status: 404, code: 'previous_response_not_found', param: 'previous_response_id' });
  }
});

test('a conversation is a thread: its items are listed, added, read and deleted', async (t) => {
  const client = service.client();
  const { id } = await client.conversations.create({
    metadata: { team: 'blue' },
    items: [{ type: 'message', role: 'user', content: 'Earlier.' }],
  });
  const made = await client.responses.create({ model: 'obedient', input: 'hello', conversation: id });
  t.deepEqual(made.conversation, { id });
  await client.conversations.items.create(id, { items: [{ type: 'message', role: 'user', content: 'Later.' }] });
  const items = [];
  for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 2 })) items.push(item);
  t.deepEqual(
    items.map((item) => item.type === 'message' && item.content.map((part) => 'text' in part && part.text)),
    [['Earlier.'], ['hello'], ['you said hello'], ['Later.']],
  );
  const [first] = items;
  const itemId = first?.type === 'message' ? first.id : '';
  t.deepEqual(await client.conversations.items.retrieve(itemId, { conversation_id: id }), first);
  t.is((await client.conversations.items.delete(itemId, { conversation_id: id })).id, id);
  await client.conversations.update(id, { metadata: { team: 'red' } });
  t.deepEqual((await client.conversations.retrieve(id)).metadata, { team: 'red' });
  t.true((await client.conversations.delete(id)).deleted);
  await t.throwsAsync(client.conversations.retrieve(id), { instanceOf: OpenAI.NotFoundError });
});

for (const [param, body, code] of [
  ['input[0].type', { input: [{ type: 'web_search_call', id: 'x' }] }, 'unsupported_parameter'],
  ['tools[0].type', { tools: [{ type: 'web_search' }] }, 'unsupported_parameter'],
  ['prompt', { prompt: { id: 'p' } }, 'unsupported_parameter'],
  ['top_logprobs', { top_logprobs: 3 }, 'unsupported_parameter'],
  ['background', { background: true, store: false }, 'invalid_value'],
  ['conversation', { conversation: 'conv_1', previous_response_id: 'resp_1' }, 'invalid_value'],
  ['conversation', { conversation: `conv_${'0'.repeat(32)}` }, 'conversation_not_found'],
  ['model', { model: 'gpt-9' }, 'model_not_found'],
  ['colour', { colour: 'blue' }, 'unknown_parameter'],
  ['input', { input: undefined }, 'missing_required_parameter'],
  ['input[0].role', { input: [{ role: 'robot', content: 'x' }] }, 'invalid_value'],
  ['input', { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, null],
] as const)
  test(`what a response cannot be is refused by its name: ${param} ${code}`, async (t) => {
    const given = { model: 'obedient', input: 'hello', ...body } as never;
    const error = await t.throwsAsync(service.client().responses.create(given));
    t.like(error, { code, param, type: 'invalid_request_error' });
  });
