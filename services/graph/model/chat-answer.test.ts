import test from 'ava';
import { readChatAnswer } from './chat-answer.ts';
import { toChatFault, type ChatReply } from './chat-request.ts';
import type { AnswerPart, FinishReason } from './model.ts';
import { CutError, modelFailure } from './model-failure.ts';
import { readProviderFault } from './provider-words.ts';

const done = { choices: [{ delta: {}, finish_reason: 'stop' }] };

const stop: AnswerPart = { type: 'finish', reason: 'stop' };

const replyOf = (body: string | null): ChatReply => ({
  response: new Response(body),
  source: 'chat:test',
  toError: (event) => new Error(readProviderFault({ body: event }, '').words),
});

const read = async (...chunks: readonly unknown[]): Promise<AnswerPart[]> => {
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  return Array.fromAsync(readChatAnswer(replyOf(text), 'small-1'));
};

const calling = (...calls: readonly object[]): object => ({ choices: [{ delta: { tool_calls: calls } }] });

test('calls without an index are told apart by their ids', async (t) => {
  const parts = await read(
    calling({ id: 'a', function: { name: 'add', arguments: '{"x"' } }),
    calling({ function: { arguments: ':1}' } }),
    calling({ id: 'b', function: { name: 'look', arguments: '' } }),
    done,
  );
  t.deepEqual(parts, [
    { type: 'tool_call', id: 'a', name: 'add', args: { x: 1 } },
    { type: 'tool_call', id: 'b', name: 'look', args: {} },
    stop,
  ]);
});

test('a call without an id gets one', async (t) => {
  const [part] = await read(calling({ index: 0, function: { name: 'add', arguments: '{}' } }), done);
  t.true(part?.type === 'tool_call' && part.id !== '');
});

test('a refusal is text, and its reason says that something is withheld', async (t) => {
  const filtered: AnswerPart = { type: 'finish', reason: 'content_filter' };
  t.deepEqual(await read({ choices: [{ delta: { refusal: 'No.' } }] }, done), [
    { type: 'text', text: 'No.' },
    filtered,
  ]);
});

test('a stream without a finish reason, with an error, or without any event is no answer', async (t) => {
  await t.throwsAsync(read({ choices: [{ delta: { content: 'Hi' } }] }));
  await t.throwsAsync(read({ error: { message: 'overloaded' } }), { message: 'overloaded' });
  await t.throwsAsync(read());
  await t.throwsAsync(Array.fromAsync(readChatAnswer(replyOf(null), 'small-1')));
});

for (const [title, type, what] of [
  ['a page', 'text/html; charset=secret', 'but text/html'],
  ['an answer that is not streamed', 'application/json', 'but application/json'],
  ['a body of no type that is known', 'secret', 'but of no known type'],
] as const)
  test(`${title} in place of a stream could not be read, and says to check baseUrl`, async (t) => {
    const response = new Response('{"choices": []}', { headers: { 'content-type': type } });
    const error = await t.throwsAsync(
      Array.fromAsync(readChatAnswer({ response, source: 'chat:test', toError: () => new Error('none') }, 'small-1')),
    );
    t.like(modelFailure(toChatFault(error)), {
      message: 'the answer of the model could not be read: check baseUrl',
      reason: 'unreadable',
      cause: `the reply is no answer of chat completions, ${what}`,
    });
  });

test('a stream that ends without an event is broken off', async (t) => {
  const response = new Response('', { headers: { 'content-type': 'text/event-stream' } });
  const error = await t.throwsAsync(
    Array.fromAsync(readChatAnswer({ response, source: 'chat:test', toError: () => new Error('none') }, 'small-1')),
  );
  t.is(modelFailure(toChatFault(error)).message, 'the model broke off its answer');
});

test('counts of tokens that are no counts are none', async (t) => {
  const usage = { prompt_tokens: null, completion_tokens: 3 };
  const [part] = await read(done, { choices: [], usage });
  t.deepEqual(part, { type: 'usage', model: 'small-1', inputTokens: 0, outputTokens: 3 });
  const strange = { prompt_tokens: -1, completion_tokens: 1.5 };
  t.like((await read(done, { choices: [], usage: strange }))[0], { inputTokens: 0, outputTokens: 0 });
});

/** An answer to a reply of this body. */
const readBody = async (body: string, type = 'text/event-stream'): Promise<AnswerPart[]> => {
  const response = new Response(body, { headers: { 'content-type': type } });
  const toError = (event: string): Error => new Error(readProviderFault({ body: event }, '').words);
  return Array.fromAsync(readChatAnswer({ response, source: 'chat:test', toError }, 'small-1'));
};

const hello: AnswerPart = { type: 'text', text: 'Hello' };
const ended = (reason: FinishReason): AnswerPart => ({ type: 'finish', reason });
const eventOf = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

test('[DONE] after an answer without a reason ends it, and after nothing does not', async (t) => {
  t.deepEqual(await readBody(`${eventOf({ content: 'Hello' })}data: [DONE]\n\n`), [hello, ended('unknown')]);
  t.deepEqual(await readBody(`${eventOf({ content: 'Hello' }, '')}data:[DONE]\n\n`), [hello, ended('unknown')]);
  await t.throwsAsync(readBody('data: [DONE]\n\n'), { instanceOf: CutError });
  await t.throwsAsync(readBody(eventOf({ content: 'Hello' })), { instanceOf: CutError });
});

for (const [word, reason] of [
  ['stop', 'stop'],
  ['STOP', 'stop'],
  ['end_turn', 'stop'],
  ['eos', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
  ['model_length', 'length'],
  ['content_filter', 'content_filter'],
  ['content-filter', 'content_filter'],
  ['SAFETY', 'content_filter'],
  ['refusal', 'content_filter'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['time_limit', 'length'],
  ['some_new_word', 'unknown'],
] as const)
  test(`an answer that ended by ${word} ended by ${reason}`, async (t) => {
    t.deepEqual(await readBody(eventOf({ content: 'Hello' }, word)), [hello, ended(reason)]);
  });

test('an early word for the end is not the last one, and one that leaves something out stays', async (t) => {
  t.deepEqual(
    await readBody(eventOf({ content: 'Hel' }, 'stop') + eventOf({ content: 'lo' }, 'length') + eventOf({}, 'stop')),
    [{ type: 'text', text: 'Hel' }, { type: 'text', text: 'lo' }, ended('length')],
  );
});

for (const [title, body] of [
  [
    'comments, empty events and pings',
    `: OPENROUTER PROCESSING\n\ndata:\n\nevent: ping\ndata: ping\n\n${eventOf({ content: 'Hello' }, 'stop')}`,
  ],
  [
    'a byte order mark and line ends of Windows',
    `\uFEFF${eventOf({ content: 'Hello' }, 'stop')}`.replaceAll('\n', '\r\n'),
  ],
  ['no blank behind data:', eventOf({ content: 'Hello' }, 'stop').replaceAll('data: ', 'data:')],
  [
    'chunks without choices',
    `data: {"choices":[]}\n\ndata: {"id":"1","choices":null}\n\n${eventOf({ content: 'Hello' }, 'stop')}`,
  ],
  ['white space before it', ` \n\n \n${eventOf({ content: 'Hello' }, 'stop')}`],
  [
    'a second answer beside it',
    'data: {"choices":[{"index":1,"delta":{"content":"No"},"finish_reason":"length"}]}\n\n' +
      eventOf({ content: 'Hello' }, 'stop'),
  ],
  [
    'null for everything else',
    eventOf(
      {
        role: null,
        content: 'Hello',
        refusal: null,
        tool_calls: null,
        function_call: null,
        reasoning: null,
        audio: null,
      },
      'stop',
    ),
  ],
  [
    'a list of parts',
    eventOf({ content: [{ type: 'text', text: 'Hel' }, 'lo', { type: 'reference', reference_ids: [1] }] }, 'stop'),
  ],
  [
    'a whole message that repeats it',
    eventOf({ content: 'Hello' }) +
      'data: {"choices":[{"delta":{},"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}\n\n',
  ],
  ['message in place of delta', 'data: {"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'],
] as const)
  test(`an answer is read with ${title}`, async (t) => {
    const parts = await readBody(body);
    t.is(parts.map((part) => (part.type === 'text' ? part.text : '')).join(''), 'Hello');
    t.deepEqual(parts.at(-1), ended('stop'));
  });

test('a reply that is JSON is read whole, whatever type it has', async (t) => {
  const message = {
    role: 'assistant',
    content: 'Hello',
    reasoning_content: 'Hm',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'add', arguments: '{"x":1}' } }],
  };
  const usage = { prompt_tokens: 3, completion_tokens: 2 };
  for (const type of ['application/json', 'text/event-stream', 'text/plain'])
    t.deepEqual(
      await readBody(
        ` ${JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }, undefined, 2)}\n`,
        type,
      ),
      [
        { type: 'reasoning', text: 'Hm' },
        {
          type: 'reasoning',
          text: '',
          provider_data: { source: 'chat:test', text_member: 'reasoning_content', members: {} },
        },
        hello,
        { type: 'usage', model: 'small-1', inputTokens: 3, outputTokens: 2 },
        { type: 'tool_call', id: 'a', name: 'add', args: { x: 1 } },
        ended('tool_calls'),
      ],
    );
  t.deepEqual(await readBody('{"choices":[{"message":{"content":"Hello"}}]}', 'application/json'), [
    hello,
    ended('unknown'),
  ]);
});

for (const [title, body, words] of [
  ['an error event', 'data: {"error":{"message":"overloaded","code":503}}\n\n', '503: overloaded'],
  ['an event with the name of an error', 'event: error\ndata: {"message":"overloaded"}\n\n', 'overloaded'],
  ['an event with the name of an error that is no JSON', 'event: error\ndata: overloaded\n\n', 'overloaded'],
  [
    'an error beside its end',
    `data: {"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"overloaded"}}]}\n\n`,
    '502: overloaded',
  ],
  [
    'an object that is an error (vLLM)',
    'data: {"object":"error","message":"overloaded","code":400}\n\n',
    '400: overloaded',
  ],
  ['an error that is a text', 'data: {"error":"overloaded"}\n\n', 'overloaded'],
  ['a reply of JSON that is an error', '{"error":{"message":"overloaded"}}', 'overloaded'],
  ['a list of errors (Google)', '[{"error":{"code":429,"message":"overloaded"}}]', '429: overloaded'],
  ['a detail (FastAPI)', '{"detail":"overloaded"}', 'overloaded'],
  ['an end by error', eventOf({}, 'error'), ''],
  ['an end by a lack of resources (DeepSeek)', eventOf({}, 'insufficient_system_resource'), ''],
  ['a message in place of choices (DashScope)', 'data: {"code":503,"message":"overloaded"}\n\n', '503: overloaded'],
  ['a message and [DONE]', 'data: {"code":503,"msg":"overloaded"}\n\n', '503: overloaded'],
  [
    'a reply of JSON with a message alone (xaibo#36)',
    '{"code":40001,"msg":"overloaded","data":null}',
    '40001: overloaded',
  ],
  [
    'a reply without choices (MiniMax)',
    '{"choices":null,"base_resp":{"status_code":1002,"status_msg":"overloaded"}}',
    '1002: overloaded',
  ],
] as const)
  test(`an answer of which half came, then ${title}, fails with what the provider wrote`, async (t) => {
    const before = body.startsWith('data') || body.startsWith('event') ? eventOf({ content: 'Half' }) : '';
    await t.throwsAsync(readBody(before + body), { message: words });
  });

test('a refusal that breaks off is no whole answer', async (t) => {
  await t.throwsAsync(readBody(eventOf({ refusal: 'No' })), { instanceOf: CutError });
});

test('reasoning is told apart from text, and goes back in the member that it came in', async (t) => {
  const back = (member: string): AnswerPart => ({
    ...{ type: 'reasoning', text: '' },
    provider_data: { source: 'chat:test', text_member: member, members: {} },
  });
  for (const member of ['reasoning_content', 'reasoning', 'thinking'])
    t.deepEqual(await readBody(eventOf({ [member]: 'Hm' }) + eventOf({ content: 'Hello' }, 'stop')), [
      { type: 'reasoning', text: 'Hm' },
      back(member),
      hello,
      ended('stop'),
    ]);
  const both = eventOf({ reasoning: 'Hm', reasoning_content: 'Hm', content: 'Hello' }, 'stop');
  t.deepEqual(await readBody(both), [
    { type: 'reasoning', text: 'Hm' },
    back('reasoning_content'),
    hello,
    ended('stop'),
  ]);
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] };
  t.deepEqual(
    await readBody(eventOf({ content: [thinking] }) + eventOf({ content: [{ type: 'text', text: 'Hello' }] }, 'stop')),
    [{ type: 'reasoning', text: 'Hm' }, back('content.thinking'), hello, ended('stop')],
  );
});

// kimi-cli#2498: a provider that thinks refuses an answer whose reasoning is absent, and takes one where it is empty.
test('reasoning that is empty goes back as such, and as nothing where there was some', async (t) => {
  const adding = { id: 'a', index: 0, function: { name: 'add', arguments: '{}' } };
  const kept = { source: 'chat:test', members: { reasoning_content: '' } };
  const called: AnswerPart = { type: 'tool_call', id: 'a', name: 'add', args: {} };
  const empty = { choices: [{ delta: { role: 'assistant', content: '', reasoning_content: '' } }] };
  t.deepEqual(await read(empty, calling(adding), done), [
    { type: 'reasoning', text: '', provider_data: kept },
    called,
    stop,
  ]);
  t.deepEqual(await read(empty, { choices: [{ delta: { content: 'Hello' } }] }, done), [
    hello,
    { type: 'text', text: '', provider_data: kept },
    stop,
  ]);
  const some = { choices: [{ delta: { reasoning_content: 'Hm' } }] };
  const members = { source: 'chat:test', text_member: 'reasoning_content', members: {} };
  t.deepEqual(await read(empty, some, calling(adding), done), [
    { type: 'reasoning', text: 'Hm' },
    { type: 'reasoning', text: '', provider_data: members },
    called,
    stop,
  ]);
});

test('what stands beside an answer and is not known goes back with its last block, its chunks joined', async (t) => {
  const detail = (text: string, others: object = {}): object => ({
    reasoning_details: [{ type: 'reasoning.text', index: 0, text, ...others }],
  });
  const body =
    eventOf(detail('H')) +
    eventOf(detail('m', { signature: 's' })) +
    eventOf({ content: 'Hello', cache: { id: 1 } }) +
    eventOf({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'x' }] }, 'stop');
  t.deepEqual(await readBody(body), [
    { type: 'reasoning', text: 'H' },
    { type: 'reasoning', text: 'm' },
    hello,
    {
      ...{ type: 'text', text: '' },
      provider_data: {
        source: 'chat:test',
        members: {
          reasoning_details: [
            { type: 'reasoning.text', index: 0, text: 'Hm', signature: 's' },
            { type: 'reasoning.encrypted', index: 1, data: 'x' },
          ],
          cache: { id: 1 },
        },
      },
    },
    ended('stop'),
  ]);
});

test('what stands beside an answer without text goes back with a reasoning of no text, and over its bound not at all', async (t) => {
  const sealed = (data: string): string =>
    eventOf({ reasoning_details: [{ type: 'reasoning.encrypted', id: '1', data }] });
  const members = { reasoning_details: [{ type: 'reasoning.encrypted', id: '1', data: 'x' }] };
  const call = eventOf({ tool_calls: [{ id: 'a', function: { name: 'add', arguments: '{}' } }] }, 'tool_calls');
  t.deepEqual((await readBody(sealed('x') + call))[0], {
    type: 'reasoning',
    text: '',
    provider_data: { source: 'chat:test', members },
  });
  t.deepEqual(
    await readBody(sealed('x'.repeat(200_000)) + sealed('y'.repeat(200_000)) + eventOf({ content: 'Hello' }, 'stop')),
    [hello, ended('stop')],
  );
});

for (const [title, usage] of [
  ['in its usual place', { usage: { prompt_tokens: 3, completion_tokens: 2 } }],
  ['in the words of Anthropic', { usage: { input_tokens: 3, output_tokens: 2 } }],
  ['as Groq has it', { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 2 } } }],
  ['in the choice', { choices: [{ index: 0, delta: {}, usage: { prompt_tokens: 3, completion_tokens: 2 } }] }],
] as const)
  test(`tokens are read ${title}`, async (t) => {
    const parts = await readBody(
      `data: {"choices":[],"usage":null}\n\n${eventOf({ content: 'Hello' }, 'stop')}data: ${JSON.stringify(usage)}\n\n`,
    );
    t.deepEqual(parts, [hello, { type: 'usage', model: 'small-1', inputTokens: 3, outputTokens: 2 }, ended('stop')]);
  });

test('an answer over the size limit of a message ends early, by name', async (t) => {
  const chunk = 'x'.repeat(64 * 1024);
  const many = (delta: object): string => eventOf(delta).repeat(40);
  for (const body of [
    many({ content: chunk }),
    many({ reasoning: chunk }),
    many({ tool_calls: [{ index: 0, id: 'a', function: { name: 'add', arguments: chunk } }] }),
  ]) {
    const error = await t.throwsAsync(readBody(body), { message: /has \d+ bytes, more than 2097152$/ });
    t.like(modelFailure(toChatFault(error)), {
      reason: 'answer_too_long',
    });
  }
  const calls = Array.from({ length: 1001 }, (_, at) => ({
    index: at,
    id: String(at),
    function: { name: 'add', arguments: '{}' },
  }));
  t.regex((await t.throwsAsync(readBody(eventOf({ tool_calls: calls })))).message, /more than 1000 tool calls/);
});

test('an answer in many small chunks is read in a time that grows with its length', async (t) => {
  const count = 100_000;
  const body = Array.from({ length: count }, (_, at) =>
    eventOf({
      reasoning_details: [{ type: 'reasoning.text', index: at }],
      tool_calls: [{ index: 0, id: 'a', function: { name: 'add', arguments: at === 0 ? '{"x":"' : 'y' } }],
    }),
  ).join('');
  const parts = await readBody(
    `${body}${eventOf({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }, 'tool_calls')}`,
  );
  t.deepEqual(parts.at(0), { type: 'tool_call', id: 'a', name: 'add', args: { x: 'y'.repeat(count - 1) } });
});
