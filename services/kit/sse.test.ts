import test from 'ava';
import fc from 'fast-check';
import { readEvents } from './sse.ts';

const line = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/[\r\n]/.test(text));
const event = fc.record({
  id: line.filter((id) => id !== ''),
  event: line.filter((name) => name !== ''),
  data: fc.array(line, { minLength: 1, maxLength: 3 }),
});

const written = fc
  .record({ events: fc.array(event, { maxLength: 6 }), end: fc.constantFrom('\n', '\r\n', '\r') })
  .map(({ events, end }) => ({
    events: events.map(({ id, event, data }) => ({ id, event, data: data.join('\n') })),
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

test('an event that is cut is not given, one without data is none, and a field may lack its space', async (t) => {
  const bytes = new TextEncoder().encode('id:1\nevent:a\ndata:x\n\nid: 2\n\ndata: y\n\ndata: cut');
  t.deepEqual(await Array.fromAsync(readEvents(from([bytes]))), [
    { id: '1', event: 'a', data: 'x' },
    { id: '2', event: 'message', data: 'y' },
  ]);
});

async function* from(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

test('an event that does not end is refused once it is too long, in one line or in many', async (t) => {
  const repeated = (text: string): Promise<unknown[]> =>
    Array.fromAsync(readEvents(from(Array.from({ length: 100 }, () => new TextEncoder().encode(text))), 100));
  for (const text of ['data: 12345678', 'data: 1\n']) await t.throwsAsync(repeated(text), { instanceOf: RangeError });
  t.is((await repeated('data: 1\n\n')).length, 100);
});
