import { textOf, type Block, type Message } from '@agent-workflow/graph';
import test from 'ava';
import { toSummaryQuestion } from './transcript.ts';

const message = (role: Message['role'], ...content: Block[]): Message => ({
  message_id: 'm',
  role,
  content,
  timestamp: '2025-11-21T12:00:00.000Z',
});

test('calls and their results are told in words, pictures by their kind, and thoughts not at all', (t) => {
  const {
    messages: [question],
  } = toSummaryQuestion(
    [
      message('user', { type: 'text', text: 'See' }, { type: 'image', url: 'https://pictures.example/1' }),
      message(
        'assistant',
        { type: 'reasoning', text: 'hm' },
        { type: 'tool_call', id: 'a', name: 'look', args: { at: 1 } },
      ),
      message('tool', { type: 'tool_result', call_id: 'a', output: { seen: true } }),
    ],
    'They met.',
  );
  t.is(
    question && textOf(question),
    'The notes so far:\nThey met.\n\nWhat was said since:\nuser: See\nuser: [image]\n' +
      'assistant: calls look with {"at":1}\ntool: {"seen":true}',
  );
});

test('one long message does not crowd out the rest', (t) => {
  const {
    messages: [question],
  } = toSummaryQuestion([message('user', { type: 'text', text: 'x'.repeat(100_000) })], '');
  t.true(JSON.stringify(question).length < 2200);
});
