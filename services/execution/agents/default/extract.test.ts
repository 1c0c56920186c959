import type { Message } from '@agent-workflow/graph';
import test from 'ava';
import { extractSummary } from './extract.ts';

const message = (role: Message['role'], text: string): Message => ({
  message_id: text,
  role,
  content: [{ type: 'text', text }],
  timestamp: '2025-11-21T12:00:00.000Z',
});

test('the first sentence of each thing that the user said is a line, after the lines of before', (t) => {
  const messages = [
    message('user', 'I live in Porto. It rains.'),
    message('assistant', 'I see.'),
    message('user', ' version 1.5 is out\nand more'),
    message('user', ''),
  ];
  t.is(
    extractSummary(messages, '- user: hello'),
    '- user: hello\n- user: I live in Porto.\n- user: version 1.5 is out',
  );
});

test('a long sentence is cut between two characters', (t) => {
  const line = extractSummary([message('user', '🫖'.repeat(200))], '');
  t.is(line, `- user: ${'🫖'.repeat(119)}…`);
});

test('however long a conversation goes on, its summary stays short, and ends with the newest', (t) => {
  let summary = '';
  for (let turn = 0; turn < 500; turn++)
    summary = extractSummary([message('user', `${String(turn)} ${'x'.repeat(500)}`)], summary);
  t.is(summary.split('\n').length, 40);
  t.regex(summary, /\n- user: 499 x+…$/);
});
