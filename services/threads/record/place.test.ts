import test from 'ava';
import fc from 'fast-check';
import { placeMessages } from './place.ts';

const entryOf = (messageId: string, value = messageId): { messageId: string; json: Uint8Array } => ({
  messageId,
  json: Buffer.from(value),
});

test('new messages come after each other at the end of the log', (t) => {
  const { messages, nextPosition } = placeMessages([entryOf('a'), entryOf('b')], 7, new Map());
  t.deepEqual(
    messages.map(({ messageId, position }) => [messageId, position]),
    [
      ['a', 7],
      ['b', 8],
    ],
  );
  t.is(nextPosition, 9);
});

test('every message has one place: its old one, or a new one without a gap', (t) => {
  const ids = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 12 });
  fc.assert(
    fc.property(ids, fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e')), (given, known) => {
      const positions = new Map<string, { position: number }>(known.map((id, position) => [id, { position }]));
      const entries = given.map((id, index) => entryOf(id, `${id}${String(index)}`));
      const { messages, nextPosition } = placeMessages(entries, known.length, positions);
      t.is(messages.length, new Set(given).size);
      t.is(new Set(messages.map(({ position }) => position)).size, messages.length);
      const fresh = messages.filter(({ messageId }) => !positions.has(messageId)).map(({ position }) => position);
      t.deepEqual(
        fresh,
        fresh.map((_, index) => known.length + index),
      );
      t.is(nextPosition, known.length + fresh.length);
      for (const { messageId, position, json } of messages) {
        t.is(position, positions.get(messageId)?.position ?? position);
        t.is(Buffer.from(json).toString(), `${messageId}${String((given as string[]).lastIndexOf(messageId))}`);
      }
    }),
  );
});
