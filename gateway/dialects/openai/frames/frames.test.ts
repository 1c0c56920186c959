import type { RunEvent } from '@agent-workflow/protos/execution';
import test from 'ava';
import { createAnswerReader, type AnswerEvent } from './answer-events.ts';
import { createResponseFrames } from './response-frames.ts';

const noAddress = (fileId: string): string => `https://files.example/${fileId}`;

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
let seq = 0;
const event = (kind: RunEvent['kind'], data: unknown, more: Partial<RunEvent> = {}): RunEvent => ({
  ...{ seq: ++seq, kind, at: 1_790_000_000_000, data: bytes(data) },
  ...more,
});
const chunk = (messageId: string, data: unknown): RunEvent =>
  event('messages_chunk', data, { messageId, role: 'assistant', node: 'n' });
const whole = (messageId: string, ...content: object[]): RunEvent =>
  event('messages_chunk', '', {
    ...{ messageId, role: 'assistant' },
    message: bytes({ message_id: messageId, role: 'assistant', content, timestamp: '' }),
  });
const text = (given: string) => ({ type: 'text', text: given });
const thought = (given: string) => ({ type: 'reasoning', text: given });
const ended = (status = 'completed', messages: object[] = []): RunEvent =>
  event('on_chain_end', {
    ...{ messages, all_messages: messages, iterations: 1, recursion_limit_reached: false },
    metadata: { usage: { input_tokens: 3, output_tokens: 4 } },
    meta: { run_id: '0190a5b2-0000-7000-8000-000000000001', status },
  });

const readAll = (events: readonly RunEvent[]): AnswerEvent[] => events.flatMap(createAnswerReader(noAddress));
const shown = (events: readonly AnswerEvent[]): string[] =>
  events.map((one) =>
    'messageId' in one ? `${one.type} ${one.messageId}${'text' in one ? ` ${one.text}` : ''}` : one.type,
  );

test('of messages that come at the same time, one is read as it comes and the other when it is whole', (t) => {
  const events = [
    ...[chunk('a', 'one '), chunk('b', 'other '), chunk('a', 'two'), whole('a', text('one two'))],
    ...[chunk('b', 'end'), whole('b', text('other end')), ended()],
  ];
  t.deepEqual(shown(readAll(events)), ['text a one ', 'text a two', 'whole a', 'text b other end', 'whole b', 'ended']);
});

test('a message whose node begins again is left, and comes once more as a whole', (t) => {
  const restarted = event('on_chain_stream', { node: 'n', step: 1, status: 'restarted', attempt: 2 });
  const events = [chunk('a', 'half'), restarted, chunk('a', 'all'), whole('a', text('all of it')), ended()];
  t.deepEqual(shown(readAll(events)), ['text a half', 'left a', 'text a all of it', 'whole a', 'ended']);
  const other = event('on_chain_stream', { node: 'o', step: 1, status: 'restarted', attempt: 2 });
  t.deepEqual(shown(readAll([chunk('a', 'half'), other, chunk('a', ' more')])), ['text a half', 'text a  more']);
});

test('what was not streamed of a message comes with the whole, and calls and results alone say nothing', (t) => {
  const call = { type: 'tool_call', id: 'c', name: 'look', args: {} };
  const events = [chunk('a', 'one'), whole('a', text('one two'), call), chunk('b', call), whole('b', call)];
  t.deepEqual(shown(readAll(events)), ['text a one', 'text a  two', 'whole a']);
});

const facts = {
  run: { runId: '0190a5b2-0000-7000-8000-000000000001', agent: 'a', createdAt: 1_790_000_000_000 },
  kept: { isStored: true, isThreadUnkept: false, body: {} },
};

test('what was thought is an item before its message; numbers have no gaps, and items are counted on', async (t) => {
  const message = {
    ...{ message_id: 'a', role: 'assistant', timestamp: '' },
    content: [thought('Hm.'), text('Yes.')],
  };
  const events = [
    ...[event('metadata', {}), chunk('a', thought('Hm.')), chunk('a', 'Yes.')],
    ...[whole('a', thought('Hm.'), text('Yes.')), ended('completed', [message])],
  ];
  const frames = createResponseFrames(() => Promise.resolve(facts), noAddress);
  const made = [];
  for (const one of events) made.push(...(await frames(one)));
  t.deepEqual(
    made.map(({ sequence_number: number }) => number),
    made.map((_, index) => index),
  );
  t.deepEqual(
    made.map(({ type }) => type.replace('response.', '')),
    [
      ...['created', 'in_progress', 'output_item.added', 'content_part.added', 'reasoning_text.delta'],
      ...['reasoning_text.done', 'content_part.done', 'output_item.done', 'output_item.added', 'content_part.added'],
      ...['output_text.delta', 'output_text.done', 'content_part.done', 'output_item.done', 'completed'],
    ],
  );
  const done = made.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  const { response } = made.at(-1) as unknown as {
    readonly response: { readonly output: unknown; readonly usage: object };
  };
  t.deepEqual(response.output, done);
  t.like(response.usage, { input_tokens: 3, output_tokens: 4, total_tokens: 7 });
});

test('a message that is left is an item that is not complete', async (t) => {
  const frames = createResponseFrames(() => Promise.resolve(facts), noAddress);
  const made = [];
  for (const one of [event('metadata', {}), chunk('a', 'half'), ended('stopped')]) made.push(...(await frames(one)));
  t.like(made.find(({ type }) => type === 'response.output_item.done')?.['item'], { status: 'incomplete' });
  t.like(made.at(-1), { type: 'response.incomplete', response: { status: 'cancelled' } });
});

test('files and data of a message are links behind its text, streamed or not', async (t) => {
  const file = { type: 'document', file_id: 'f-1', filename: 'a [b].txt' };
  const picture = { type: 'image', url: 'https://example.com/cat.png' };
  const content = [text('Here: '), file, picture, { type: 'data', data: { a: 1 } }, text('done')];
  const links =
    '\n\n[a \\[b\\].txt](https://files.example/f-1)\n\n![image](https://example.com/cat.png)\n\n```json\n{"a":1}\n```';
  const message = { message_id: 'a', role: 'assistant', timestamp: '', content };
  const events = [chunk('a', 'Here: '), chunk('a', file), chunk('a', 'done'), whole('a', ...content)];
  t.deepEqual(shown(readAll([...events, ended()])), [
    'text a Here: ',
    'text a done',
    `text a ${links}`,
    'whole a',
    'ended',
  ]);
  const alone = whole('b', file);
  t.deepEqual(shown(readAll([alone, ended()])), [
    'text b [a \\[b\\].txt](https://files.example/f-1)',
    'whole b',
    'ended',
  ]);
  const frames = createResponseFrames(() => Promise.resolve(facts), noAddress);
  const made = [];
  for (const one of [event('metadata', {}), ...events, ended('completed', [message])])
    made.push(...(await frames(one)));
  const { response } = made.at(-1) as unknown as { readonly response: { readonly output: readonly object[] } };
  t.like(response.output[0], { content: [{ text: `Here: done${links}` }] });
});
