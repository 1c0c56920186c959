import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { camera, serveOpenai, user } from './service.ts';

const service = serveOpenai(test, {}, { agents: { obedient: agentAt('obedient'), calling: agentAt('calling-twice') } });

/**
 * What servers of this API were reported for, by the reports of their users. Each sends what was reported as the bytes of a request, since a client
 * would not.
 */
const post = async (path: string, body: object): Promise<{ readonly status: number; readonly text: string }> => {
  const reply = await fetch(`${service.url()}/openai/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: reply.status, text: await reply.text() };
};

interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly tool_calls?: readonly {
        readonly index?: number;
        readonly id?: string;
        readonly type?: string;
        readonly function: { readonly name?: string; readonly arguments: string };
      }[];
    };
    readonly finish_reason: string | null;
  }[];
}

const chunksIn = (text: string): Chunk[] =>
  text
    .split('\n\n')
    .filter((part) => part.startsWith('data: {'))
    .map((part) => JSON.parse(part.slice('data: '.length)) as Chunk);

const listen = { type: 'function', function: { name: 'listen', parameters: { type: 'object' } } };

test('calls that come together have numbers of their own in a stream, and each its id and its name once', async (t) => {
  const body = { model: 'calling', messages: [user('go')], tools: [camera, listen], stream: true };
  const { text } = await post('/chat/completions', body);
  const chunks = chunksIn(text);
  const calls = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
  t.deepEqual(
    calls.map(({ index, id, type, function: { name } }) => [index, id !== undefined, type, name]),
    [
      [0, true, 'function', 'look'],
      [0, false, undefined, undefined],
      [1, true, 'function', 'listen'],
      [1, false, undefined, undefined],
    ],
  );
  t.is(new Set(calls.flatMap(({ id }) => id ?? [])).size, 2);
  t.is(chunks.at(-1)?.choices[0]?.finish_reason, 'tool_calls');
});

test('results of calls that came together may come one by one', async (t) => {
  interface Made {
    readonly choices: readonly [
      { readonly message: { readonly content: string | null; readonly tool_calls?: readonly { id: string }[] } },
    ];
  }
  const complete = async (messages: readonly object[]): Promise<Made['choices'][0]['message']> => {
    const { status, text } = await post('/chat/completions', { model: 'calling', messages, tools: [camera, listen] });
    t.is(status, 200, text);
    return (JSON.parse(text) as Made).choices[0].message;
  };
  const asked = await complete([user('go')]);
  const [first, second] = asked.tool_calls ?? [];
  const result = (id = '') => ({ role: 'tool', tool_call_id: id, content: 'something' });
  const again = await complete([user('go'), asked, result(second?.id)]);
  t.deepEqual(
    again.tool_calls?.map(({ id }) => id.slice(33)),
    [first?.id.slice(33)],
  );
  t.is((await complete([user('go'), again, result(again.tool_calls?.[0]?.id)])).content, 'both are there');
});

for (const [what, more] of Object.entries({
  'null for what may be absent': {
    stream: null,
    tools: null,
    stop: null,
    max_tokens: null,
    stream_options: null,
    user: null,
  },
  'an empty list of tools': { tools: [] },
  'a list of one text': { messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }] },
  'an answer without content': {
    messages: [user('a'), { role: 'assistant', tool_calls: [] }, user('hello')],
  },
  'an answer whose content is null, and calls without arguments': {
    messages: [
      user('a'),
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'a cat' }] },
      user('hello'),
    ],
  },
  'calls whose arguments a model has not written as JSON': {
    messages: [
      user('a'),
      {
        role: 'assistant',
        tool_calls: ['{"at": "no', '[]'].map((text, index) => ({
          ...{ id: `c${String(index)}`, type: 'function' },
          function: { name: 'look', arguments: text },
        })),
      },
      ...['c0', 'c1'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'that is no JSON' })),
      user('hello'),
    ],
  },
  'one as a stop, a tier, and a name for the user': {
    stop: 'x',
    service_tier: 'auto',
    user: 'ada',
    n: 1,
    store: false,
  },
  'tool_choice without tools': { tool_choice: 'none' },
  'a stream without its options': { stream: false, logprobs: false, modalities: ['text'] },
}))
  test(`a completion takes ${what}`, async (t) => {
    const { status, text } = await post('/chat/completions', { model: 'obedient', messages: [user('hello')], ...more });
    t.is(status, 200, text);
    t.true(text.includes('"content":"you said hello"'), text);
  });

for (const [what, more] of Object.entries({
  'null for what may be absent': {
    stream: null,
    tools: null,
    previous_response_id: null,
    instructions: null,
    text: null,
  },
  'items without a type': { input: [user('hello')] },
  'a list of parts': { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] }] },
  'items of an answer, sent back as they came': {
    input: [
      user('a'),
      { id: 'rs_1', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'b', annotations: [] }],
      },
      user('hello'),
    ],
  },
  'a format of text, no reasoning, and what is to be included': {
    text: { format: { type: 'text' } },
    reasoning: {},
    include: ['reasoning.encrypted_content'],
    truncation: 'auto',
  },
}))
  test(`a response takes ${what}`, async (t) => {
    const { status, text } = await post('/responses', { model: 'obedient', input: 'hello', ...more });
    t.is(status, 200, text);
    t.true(text.includes('"text":"you said hello"'), text);
  });

test('JSON inside a text of the body has the bounds of the body', async (t) => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  const call = { id: 'c', type: 'function', function: { name: 'look', arguments: deep } };
  const messages = [user('a'), { role: 'assistant', tool_calls: [call] }, user('hello')];
  const chat = await post('/chat/completions', { model: 'obedient', messages });
  t.is(chat.status, 400, chat.text);
  const item = { type: 'function_call', call_id: 'c', name: 'look', arguments: deep };
  t.is((await post('/responses', { model: 'obedient', input: [item] })).status, 400);
  const answer = { role: 'tool', tool_call_id: 'c', content: deep };
  t.is((await post('/chat/completions', { model: 'obedient', messages: [user('hello'), answer] })).status, 400);
});

test('an error is an object also for a body that is no JSON, a path that is none, and a method that is not there', async (t) => {
  const send = (path: string, init: RequestInit) => fetch(`${service.url()}/openai/v1${path}`, init);
  const json = { 'content-type': 'application/json' };
  for (const [reply, status] of [
    [await send('/chat/completions', { method: 'POST', headers: json, body: '{' }), 400],
    [await send('/completions', { method: 'POST', headers: json, body: '{}' }), 404],
    [await send('/models', { method: 'DELETE' }), 405],
  ] as const) {
    t.is(reply.status, status);
    const { error } = (await reply.json()) as { error: Record<string, unknown> };
    t.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code']);
    t.is(error['type'], 'invalid_request_error');
  }
});

test('what no agent can serve is refused with the reason, and not absent', async (t) => {
  const client = service.client();
  const refused = { status: 400, code: 'unsupported_operation' };
  for (const call of [
    () => client.responses.compact({ model: 'obedient', input: 'hello' }),
    () => client.responses.inputTokens.count({ model: 'obedient', input: 'hello' }),
    async () => client.chat.completions.list(),
    () => client.chat.completions.retrieve('chatcmpl-1'),
    () => client.chat.completions.update('chatcmpl-1', { metadata: {} }),
    () => client.chat.completions.delete('chatcmpl-1'),
    async () => client.chat.completions.messages.list('chatcmpl-1'),
  ])
    t.like(await t.throwsAsync(call, undefined, call.toString()), refused, call.toString());
});
