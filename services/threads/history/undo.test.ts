import test from 'ava';
import fc from 'fast-check';
import { createOverlay, fieldsUnder } from './overlay.ts';
import { decodeUndo, encodeUndo, type Undo } from './undo.ts';

const empty: Undo = {
  mark: { nextPosition: 0, openCalls: [], next: [], openInterrupts: [], size: { fields: 0, context: 0 } },
  fields: [],
  entries: [],
  removed: [],
};

const bytes = fc.uint8Array({ maxLength: 40 });
const texts = fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 });
const undo: fc.Arbitrary<Undo> = fc
  .record({
    nextPosition: fc.nat(),
    openCalls: fc.array(fc.record({ callId: fc.string(), name: fc.string() }), { maxLength: 2 }),
    next: texts,
    openInterrupts: texts,
    size: fc.record({ fields: fc.nat(), context: fc.nat() }),
    more: fc.record({ interruptedRun: fc.string(), progress: bytes }, { requiredKeys: [] }),
    fields: fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.option(bytes, { nil: undefined })), { maxLength: 3 }),
    entries: fc.array(
      fc.record({ position: fc.nat(), messageId: fc.string({ unit: 'binary' }), json: bytes, inContext: fc.boolean() }),
      { maxLength: 3 },
    ),
    removed: fc.array(fc.nat(), { maxLength: 3 }),
    order: fc.option(fc.array(fc.nat(), { maxLength: 3 }), { nil: undefined }),
  })
  .map(({ nextPosition, openCalls, next, openInterrupts, size, more, fields, entries, removed, order }) => ({
    mark: { nextPosition, openCalls, next, openInterrupts, size, ...more },
    fields,
    entries,
    removed,
    ...(order ? { order } : {}),
  }));

test('an undo comes back from its bytes as it was, whatever it holds', (t) => {
  fc.assert(
    fc.property(undo, fc.nat(9), (given, offset) => {
      const encoded = encodeUndo(given);
      // As a driver may give it: a view of a larger buffer.
      const larger = new Uint8Array(encoded.byteLength + offset + 3).fill(10);
      larger.set(encoded, offset);
      t.deepEqual(plain(decodeUndo(larger.subarray(offset, offset + encoded.byteLength))), plain(given));
    }),
  );
});

test('what a commit of new messages and two small fields overwrites weighs little more than they did', (t) => {
  const fields = [
    ['a', Buffer.from('1')],
    ['b', Buffer.from('"x"')],
  ] as const;
  t.true(
    encodeUndo({ ...empty, mark: { ...empty.mark, nextPosition: 10_000, next: ['agent'] }, fields }).byteLength < 90,
  );
});

test('of all undos that speak of a row the oldest decides, for entry and context each', (t) => {
  const overlay = createOverlay();
  const mark = { ...empty.mark, nextPosition: 5 };
  const entry = (json: string, inContext: boolean): Undo['entries'][number] => ({
    position: 1,
    messageId: 'm',
    json: Buffer.from(json),
    inContext,
  });
  overlay.apply({ ...empty, mark, fields: [['a', Buffer.from('3')]], entries: [entry('replaced out of it', false)] });
  t.is(overlay.places.get(1)?.inContext, false);
  overlay.apply({ ...empty, mark, fields: [['a', undefined]], removed: [1] });
  t.deepEqual(
    [String(overlay.places.get(1)?.entry?.json), overlay.places.get(1)?.inContext],
    ['replaced out of it', true],
  );
  t.deepEqual(fieldsUnder({ a: Buffer.from('4'), b: Buffer.from('5') }, overlay), { b: Buffer.from('5') });
  overlay.apply({ ...empty, mark, entries: [entry('older', false)] });
  t.deepEqual([String(overlay.places.get(1)?.entry?.json), overlay.places.get(1)?.inContext], ['older', false]);
  overlay.apply({ ...empty, mark: { ...mark, nextPosition: 1 } });
  t.is(overlay.places.size, 0);
});

/** Bytes as text, so that two kinds of them are compared by what they hold. */
const plain = (given: Undo): unknown =>
  JSON.parse(
    JSON.stringify(given, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value === undefined ? 'not set' : value,
    ),
  );
