import test from 'ava';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import { filesNamedBy, filesNamedByStep } from './named.ts';

const entry = (content: unknown): MessageEntry => ({
  messageId: 'm',
  json: Buffer.from(JSON.stringify({ message_id: 'm', role: 'user', content })),
});

test('each file that a block names is found once, with its first place', (t) => {
  const image = (id: unknown): object => ({ type: 'image', file_id: id });
  const messages = [entry([{ type: 'text', text: 'a' }, image('f1')]), entry([image('f2'), image('f1')])];
  t.deepEqual(filesNamedBy(messages), [
    { fileId: 'f1', field: ['messages', 0, 'content', 1, 'file_id'] },
    { fileId: 'f2', field: ['messages', 1, 'content', 0, 'file_id'] },
  ]);
});

test('a name below the block, in a text, or that is no identifier names no file', (t) => {
  const blocks = [
    { type: 'text', text: '"file_id":"f1"' },
    { type: 'image', source: { file_id: 'f2' } },
    { type: 'image', file_id: 7 },
    { type: 'image', file_id: '' },
    { type: 'image', file_id: 'a/b' },
    { type: 'image', file_id: 'x'.repeat(257) },
    { type: 'image', file_id: null },
    null,
  ];
  const faults: unknown[] = [];
  const messages = [entry(blocks), entry('file_id'), entry({ file_id: 'f3' })];
  t.deepEqual(
    filesNamedBy(messages, ({ field, type }) => faults.push([field.join('.'), type])),
    [],
  );
  t.deepEqual(faults, [
    ['messages.0.content.2.file_id', 'string_type'],
    ['messages.0.content.3.file_id', 'string_too_short'],
    ['messages.0.content.4.file_id', 'string_pattern_mismatch'],
    ['messages.0.content.5.file_id', 'string_too_long'],
  ]);
});

test('a step also names the files of the blocks that its tools returned', (t) => {
  const image = (id: unknown): object => ({ type: 'image', file_id: id });
  const result = (output: unknown): object => ({ type: 'tool_result', call_id: 'c', output });
  const messages = [
    entry([image('f1'), result([image('f2'), { type: 'text', text: 'x' }, image('f1')])]),
    entry([
      result({ structuredContent: {}, content: [image('f3'), null] }),
      result('"file_id"'),
      result({ file_id: 'f4' }),
    ]),
    entry([{ type: 'data', output: [image('f5')] }, result([image(7), image('a/b')])]),
  ];
  t.deepEqual(filesNamedByStep(messages), ['f1', 'f2', 'f3']);
});
