import test from 'ava';
import { partsOfEvent, toEventJson } from './event-json.ts';

const event = {
  event: 'on_chain_end',
  before: '"data":{"state":{"ü":"€"',
  between: '}',
  after: ',"iterations":1},"run_id":"r"}',
};
const textOf = (json: Uint8Array): string => Buffer.concat(partsOfEvent(json)).toString();
const partOf = (text: string): string => `,"context":[${JSON.stringify(text)}]`;
const asRead = (part: string): string =>
  `{"event":"on_chain_end","data":{"state":{"ü":"€"${part}}${part},"iterations":1},"run_id":"r"}`;

test('a large part that stands at two places of an event crosses the wire once and is read twice', (t) => {
  const part = partOf('…"copy":{'.repeat(50_000));
  const json = toEventJson({ ...event, part });
  t.true(json.byteLength < Buffer.byteLength(part) + 300);
  t.notThrows(() => JSON.parse(json.toString()) as unknown);
  t.true(textOf(json) === asRead(part));
});

test('a small part is written twice, and read as it stands', (t) => {
  const part = partOf('hello');
  const json = toEventJson({ ...event, part });
  t.is(json.toString(), asRead(part));
  t.is(textOf(json), asRead(part));
});

test('an event that holds its parts twice already is read as it stands, however large', (t) => {
  const json = Buffer.from(asRead(partOf('x'.repeat(300_000))));
  t.deepEqual(partsOfEvent(json), [json]);
});
