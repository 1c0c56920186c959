import test from 'ava';
import type { Message } from '@agent-workflow/protos/message';
import { sentMessages } from './sent-messages.ts';

const message = (id: string): Message => ({
  message_id: id,
  role: 'user',
  content: [],
  timestamp: '2026-02-05T12:00:00.000Z',
});
const messages = (from: number, to: number): Message[] =>
  Array.from({ length: to - from }, (_, index) => message(`m${String(from + index)}`));

test('a whole context is one range, whatever was changed in its messages', (t) => {
  const context = messages(0, 5);
  const sent = context.map((own) => ({ ...own }));
  t.deepEqual(sentMessages(sent, context), { noted: { count: 5, ranges: [['m0', 'm4', 5]] }, others: [] });
  t.deepEqual(sentMessages([], context), { noted: { count: 0, ranges: [] }, others: [] });
});

test('parts of a context are ranges, and other messages are told apart', (t) => {
  const context = messages(0, 10);
  const made = message('made');
  const sent = [...messages(0, 2), made, ...messages(2, 3), ...messages(7, 10)];
  t.deepEqual(sentMessages(sent, context), {
    noted: {
      count: 7,
      ranges: [
        ['m0', 'm2', 3],
        ['m7', 'm9', 3],
      ],
    },
    others: [made],
  });
});

test('a context that is sent out of order has so many ranges and no more, and takes no longer', (t) => {
  const context = messages(0, 10_000);
  const begun = performance.now();
  const { noted } = sentMessages(context.toReversed(), context);
  t.true(performance.now() - begun < 200);
  t.is(noted.count, 10_000);
  t.is(noted.ranges.length, 64);
});
