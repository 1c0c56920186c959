import test from 'ava';
import fc from 'fast-check';
import { createParser, readEvents, type ServerEvent } from './sse.ts';

const line = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/[\r\n]/.test(text));
const event = fc.record({
  id: line.filter((id) => id !== ''),
  event: line.filter((name) => name !== ''),
  data: fc.array(line, { minLength: 1, maxLength: 3 }),
});

const written = fc
  .record({ events: fc.array(event, { maxLength: 6 }), end: fc.constantFrom('\n', '\r\n', '\r') })
  .map(({ events, end }) => ({
    events: events.map(({ id, event, data }): ServerEvent => ({ id, event, data: data.join('\n') })),
    text: events
      .map(({ id, event, data }) =>
        [': a comment', `id: ${id}`, `event: ${event}`, ...data.map((each) => `data: ${each}`), '', ''].join(end),
      )
      .join(''),
  }));

test('events are the same wherever their bytes are cut', async (t) => {
  await fc.assert(
    fc.asyncProperty(written, fc.array(fc.nat(), { maxLength: 10 }), async ({ events, text }, cuts) => {
      // What ends with a CR may go on with an LF: the event is whole once anything follows.
      const bytes = new TextEncoder().encode(`${text}:`);
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
      const parts = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
      const read = await Array.fromAsync(readEvents(from(parts)));
      t.deepEqual(read, events);
    }),
  );
});

test('an event that is cut is not given, one without data is none, and a field may lack its space', (t) => {
  const parse = createParser();
  t.deepEqual(parse('id:1\nevent:a\ndata:x\n\nid: 2\n\ndata: cut'), [{ id: '1', event: 'a', data: 'x' }]);
  t.deepEqual(parse('\n\n'), [{ id: '2', event: 'message', data: 'cut' }]);
});

async function* from(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

test('an event that does not end is refused once it is too long, in one line or in many', (t) => {
  for (const text of ['data: 12345678', 'data: 1\n']) {
    const parser = createParser(100);
    t.throws(
      () => {
        for (let times = 0; times < 100; times++) parser(text);
      },
      { instanceOf: RangeError },
    );
  }
  const parser = createParser(100);
  for (let times = 0; times < 100; times++) t.is(parser('data: 1\n\n').length, 1);
});
