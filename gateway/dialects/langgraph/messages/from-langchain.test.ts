import test from 'ava';
import { fromLangChain } from './from-langchain.ts';
import { toLangChain } from './to-langchain.ts';

const read = (given: unknown): unknown => {
  const found = fromLangChain(given, ['input', 'messages', 0]);
  return 'removed' in found ? found : found.message;
};

const hello = [{ type: 'text', text: 'hello' }];

test('a message is read in each form that LangChain takes', (t) => {
  for (const [given, role] of [
    ['hello', 'user'],
    [['user', 'hello'], 'user'],
    [['ai', 'hello'], 'assistant'],
    [{ role: 'user', content: 'hello' }, 'user'],
    [{ role: 'developer', content: 'hello' }, 'system'],
    [{ type: 'human', content: 'hello' }, 'user'],
    [{ type: 'AIMessageChunk', content: [{ type: 'text', text: 'hello' }] }, 'assistant'],
    [{ type: 'chat', role: 'critic', content: 'hello' }, 'user'],
    [
      { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'SystemMessage'], kwargs: { content: 'hello' } },
      'system',
    ],
  ] as const)
    t.deepEqual(read(given), { role, content: hello }, JSON.stringify(given));
});

test('a removal names its message', (t) => {
  t.deepEqual(read({ type: 'remove', id: 'm1' }), { removed: 'm1' });
  t.throws(() => read({ type: 'remove' }), { message: /input\.messages\.0\.id/ });
});

test('calls are read as LangChain and as OpenAI write them', (t) => {
  const calls = [{ type: 'tool_call', id: 'c1', name: 'find', args: { q: 'x' }, tool_type: 'function' }];
  const ofOpenAi = [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":"x"}' } }];
  for (const given of [
    { type: 'ai', content: '', tool_calls: [{ name: 'find', args: { q: 'x' }, id: 'c1', type: 'tool_call' }] },
    { role: 'assistant', content: null, tool_calls: ofOpenAi },
    { type: 'ai', content: '', tool_calls: [], additional_kwargs: { tool_calls: ofOpenAi } },
    {
      type: 'ai',
      content: [{ type: 'tool_use', id: 'c1', name: 'find', input: {} }],
      tool_calls: [{ name: 'find', args: { q: 'x' }, id: 'c1' }],
    },
  ])
    t.deepEqual(read(given), { role: 'assistant', content: calls });
});

test('the result of a tool keeps its call, its status and its output', (t) => {
  t.deepEqual(read({ type: 'tool', content: 'no', tool_call_id: 'c1', status: 'error', name: 'find' }), {
    role: 'tool',
    content: [{ type: 'tool_result', call_id: 'c1', output: 'no', status: 'error', is_error: true }],
    metadata: { name: 'find' },
  });
});

test('a fault is named by its place', (t) => {
  for (const [given, fault] of [
    [{ content: 'x' }, /messages\.0\.role/],
    [{ type: 'robot', content: 'x' }, /messages\.0\.type/],
    [{ type: 'human', content: 7 }, /messages\.0\.content/],
    [{ type: 'human', content: [{ text: 'x' }] }, /messages\.0\.content\.0\.type/],
    [{ type: 'human', content: 'x', id: 7 }, /messages\.0\.id/],
    [{ type: 'tool', content: 'x' }, /messages\.0\.tool_call_id/],
    [{ type: 'ai', content: '', tool_calls: [{ id: 'c' }] }, /tool_calls\.0\.name/],
    [{ type: 'ai', content: '', tool_calls: 'x' }, /tool_calls/],
    [
      { type: 'ai', content: '', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{' } }] },
      /function\.arguments/,
    ],
    [['user'], /messages\.0/],
    [null, /messages\.0/],
  ] as const)
    t.throws(() => read(given), { message: fault }, JSON.stringify(given));
});

test('an answer of a model has every member that front ends read', (t) => {
  const [made] = toLangChain({
    message_id: 'm1',
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'pale blue' },
      {
        type: 'tool_call',
        id: 'c1',
        name: 'find',
        args: { q: 'x' },
        tool_type: 'function',
        provider_data: { source: 's', members: {} },
      },
    ],
    metadata: { usage_metadata: { input_tokens: 1, output_tokens: 2 }, finish_reason: 'stop' },
    timestamp: '2026-01-02T03:04:05.000Z',
  });
  t.deepEqual(made, {
    content: 'pale blue',
    additional_kwargs: { reasoning_content: 'hm' },
    response_metadata: { finish_reason: 'stop' },
    type: 'ai',
    name: null,
    id: 'm1',
    tool_calls: [{ name: 'find', args: { q: 'x' }, id: 'c1', type: 'tool_call' }],
    invalid_tool_calls: [],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  });
});

test('the results of several calls in one message become a message each', (t) => {
  const result = (call: string, output: unknown) => ({
    type: 'tool_result',
    call_id: call,
    output,
    status: 'completed',
    is_error: false,
  });
  const made = toLangChain({
    message_id: 'm1',
    role: 'tool',
    content: [result('c1', 'yes'), result('c2', { found: 2 })],
    timestamp: '2026-01-02T03:04:05.000Z',
  });
  t.deepEqual(
    made.map(({ id, content, tool_call_id: call, status }) => ({ id, content, call, status })),
    [
      { id: 'm1', content: 'yes', call: 'c1', status: 'success' },
      { id: 'm1:1', content: '{"found":2}', call: 'c2', status: 'success' },
    ],
  );
});
