import type { Block, Message } from '@agent-workflow/protos/message';
import test from 'ava';
import { toChatMessages } from './chat-messages.ts';

const message = (role: Message['role'], ...content: Block[]): Message => ({
  message_id: 'm',
  role,
  content,
  timestamp: '2025-11-21T12:00:00.000Z',
});
const text = (words: string): Block => ({ type: 'text', text: words });
const call = (id: string): Block => ({ type: 'tool_call', id, name: 'look', args: { at: id } });
const result = (id: string, rest: object = {}): Block => ({
  type: 'tool_result',
  call_id: id,
  output: 'seen',
  ...rest,
});

const read = (...messages: Message[]): object[] => toChatMessages({ instructions: '', messages, tools: [] });

test('instructions are the system message, and without them there is none', (t) => {
  t.deepEqual(toChatMessages({ instructions: 'Be brief.', messages: [], tools: [] }), [
    { role: 'system', content: 'Be brief.' },
  ]);
  t.deepEqual(read(), []);
});

test('each result of one message is a message of its own, and an error says so', (t) => {
  const messages = read(
    message('assistant', call('a'), call('b')),
    message('tool', result('a'), result('b', { output: { no: 1 }, is_error: true })),
  );
  t.deepEqual(messages.slice(1), [
    { role: 'tool', tool_call_id: 'a', content: 'seen' },
    { role: 'tool', tool_call_id: 'b', content: 'Error: {"no":1}' },
  ]);
  t.like(messages[0], { role: 'assistant', content: null });
});

test('a call without its answer is not sent to the model, nor an answer without its call', (t) => {
  const messages = read(
    message('assistant', text('Let me look.'), call('a')),
    message('assistant', call('b')),
    message('tool', result('c')),
    message('user', text('Well?')),
  );
  t.deepEqual(messages, [
    { role: 'assistant', content: 'Let me look.' },
    { role: 'user', content: 'Well?' },
  ]);
});

test('what is not text is named by its kind, and past reasoning is left out', (t) => {
  const messages = read(
    message('user', text('See '), { type: 'image', url: 'https://pictures.example/1' }),
    message('assistant', { type: 'reasoning', text: 'hm' }, text('I see.')),
  );
  t.deepEqual(messages, [
    { role: 'user', content: 'See [image]' },
    { role: 'assistant', content: 'I see.' },
  ]);
});

test('results stand right after the message that made their calls, whatever was said in between', (t) => {
  const messages = read(
    message('assistant', call('a')),
    message('assistant', call('b')),
    message('assistant', text('beside')),
    message('tool', result('b')),
    message('tool', result('a')),
  );
  t.deepEqual(
    messages.map((sent) => {
      const { tool_call_id: answered, tool_calls: calls } = sent as {
        tool_call_id?: string;
        tool_calls?: { id: string }[];
      };
      return answered ?? calls?.map(({ id }) => `calls ${id}`).join() ?? 'text';
    }),
    ['calls a', 'a', 'calls b', 'b', 'text'],
  );
});
