import { AIMessage, ChatMessage, HumanMessage } from '@langchain/core/messages';
import type { Block, Message } from '@agent-workflow/graph';
import test from 'ava';
import fc from 'fast-check';
import { fromLangChain } from './from-lang-chain.ts';
import { toLangChain } from './to-lang-chain.ts';

const text = fc.string({ minLength: 1 }).map((text): Block => ({ type: 'text', text }));
const image = fc.webUrl().map((url): Block => ({ type: 'image', url }));
// An object with a key `lc` does not stay as it is: `plain-data.test.ts` says what becomes of it.
const args = fc.dictionary(fc.string(), fc.jsonValue()).filter((args) => !JSON.stringify(args).includes('"lc":'));
const call = fc
  .record({ id: fc.uuid(), name: fc.constantFrom('find', 'add'), args })
  .map((call): Block => ({ type: 'tool_call', ...call, tool_type: 'function' }));
const result = fc
  .record({ call_id: fc.uuid(), output: fc.string(), is_error: fc.boolean() })
  .map((result): Block => ({ type: 'tool_result', ...result, status: result.is_error ? 'error' : 'completed' }));

const contents: readonly (readonly [Message['role'], fc.Arbitrary<Block[]>])[] = [
  ['user', fc.oneof(fc.tuple(text), fc.tuple(text, image))],
  ['system', fc.tuple(text)],
  ['assistant', fc.oneof(fc.tuple(text, call), fc.tuple(call, call), fc.tuple(image, text))],
  ['tool', fc.tuple(result)],
];

for (const [role, content] of contents)
  test(`a message of role ${role} is the same after LangChain had it`, (t) => {
    fc.assert(
      fc.property(content, (blocks) => {
        const content = JSON.parse(JSON.stringify(blocks)) as Block[];
        const message: Message = { message_id: 'm', role, content, timestamp: '' };
        const [there, ...others] = toLangChain(message);
        t.is(there?.id, 'm');
        t.deepEqual(others, []);
        t.deepEqual(there && fromLangChain(there), { role, content });
      }),
    );
  });

test('results of several calls become one message each, under ids of their own', (t) => {
  const content = ['c1', 'c2'].map((id) => ({ type: 'tool_result', call_id: id, output: { of: id } }));
  const messages = toLangChain({ message_id: 'm', role: 'tool', content, timestamp: '' });
  t.deepEqual(
    messages.map(({ id, text }) => [id, text]),
    [
      ['m', '{"of":"c1"}'],
      ['m:1', '{"of":"c2"}'],
    ],
  );
  t.deepEqual(
    messages.map((message) => fromLangChain(message).content[0]?.['call_id']),
    ['c1', 'c2'],
  );
});

test('thoughts of a model are reasoning, its calls stand once, and a foreign block with a name of ours is data', (t) => {
  const message = new AIMessage({
    id: 'a',
    name: 'writer',
    content: [
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'text', text: '' },
      { type: 'tool_use', id: 'c', name: 'find', input: {} },
      { type: 'error', code: 7 },
    ],
    tool_calls: [{ name: 'find', args: {} }],
  });
  Object.assign(message, { usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } });
  const { content, metadata } = fromLangChain(message);
  t.deepEqual(content, [
    { type: 'reasoning', text: 'Hm.', provider_data: { langchain: { type: 'thinking', member: 'thinking' } } },
    { type: 'data', data: { type: 'error', code: 7 } },
    { type: 'tool_call', id: 'a:0', name: 'find', args: {}, tool_type: 'function' },
  ]);
  t.deepEqual(metadata, { name: 'writer', usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } });
  t.is(fromLangChain(new ChatMessage({ content: 'Be brief', role: 'developer' })).role, 'system');
  t.is(fromLangChain(new HumanMessage('Hi')).role, 'user');
});

test('reasoning beside the content and the reason of the end are kept in both directions, and an image is one as models take it', (t) => {
  const message = new AIMessage({
    id: 'a',
    content: 'Yes.',
    additional_kwargs: { reasoning_content: 'Hm.' },
    response_metadata: { finish_reason: 'max_tokens' },
  });
  const { content, metadata, role } = fromLangChain(message);
  t.deepEqual(content, [
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'Yes.' },
  ]);
  t.like(metadata, { finish_reason: 'length' });
  const kept = content.map((block) => ({ ...block, provider_data: { source: 's', members: {} } }));
  const [back] = toLangChain({
    message_id: 'a',
    role: role ?? 'user',
    content: kept,
    metadata: metadata ?? {},
    timestamp: '',
  });
  t.is(back?.content, 'Yes.');
  t.deepEqual(back?.additional_kwargs, { reasoning_content: 'Hm.' });
  t.deepEqual(back?.response_metadata, { finish_reason: 'max_tokens' });
  const image = { type: 'image', url: 'https://a.example/i.png' };
  const [asked] = toLangChain({ message_id: 'u', role: 'user', content: [image], timestamp: '' });
  t.deepEqual(asked?.content, [{ type: 'image_url', image_url: { url: image.url } }] as never);
  t.deepEqual(asked && fromLangChain(asked).content, [image]);
});
