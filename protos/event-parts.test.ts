import test from 'ava';
import { partsOfData, repeatingData } from './event-parts.ts';

const data = { before: '{"state":{"ü":"€"', between: '}', after: ',"iterations":1}' };
const partOf = (text: string): string => `,"context":[${JSON.stringify(text)}]`;
const asRead = (part: string): string => `{"state":{"ü":"€"${part}}${part},"iterations":1}`;
const textOf = (given: Parameters<typeof partsOfData>[0]): string => Buffer.concat(partsOfData(given)).toString();

test('a large part that occurs twice in an event is stored once and read twice', (t) => {
  const part = partOf('…"repeat":{'.repeat(50_000));
  const stored = repeatingData({ ...data, part });
  t.true(stored.data.byteLength < Buffer.byteLength(part) + 300);
  t.notThrows(() => JSON.parse(Buffer.from(stored.data).toString()) as unknown);
  t.true(textOf(stored) === asRead(part));
});

test('a small part is stored twice', (t) => {
  const part = partOf('hello');
  const stored = repeatingData({ ...data, part });
  t.is(Buffer.from(stored.data).toString(), asRead(part));
  t.deepEqual(partsOfData(stored), [stored.data]);
});
