import test from 'ava';
import fc from 'fast-check';
import { jsonBytes, jsonObject, jsonText, timeText } from './json.ts';

test('an object of ready texts is the object of their values', (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (values) => {
      const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]));
      t.is(jsonObject(texts), JSON.stringify(values));
    }),
  );
});

test('a member without a text is left out', (t) => {
  t.is(jsonObject({ a: undefined, b: '1' }), '{"b":1}');
  t.is(jsonObject({ a: undefined }), '{}');
});

test('bytes that are a window on a larger buffer are read within it', (t) => {
  const bytes = jsonBytes({ word: 'größe' });
  const window = new Uint8Array([0x20, ...bytes, 0x20]).subarray(1, bytes.length + 1);
  t.is(jsonText(window), '{"word":"größe"}');
});

test('times are written as dates write them, whatever was written before', (t) => {
  const near = fc.integer({ min: 1_790_000_000_000, max: 1_790_000_005_000 });
  const any = fc.integer({ min: -8.64e15, max: 8.64e15 });
  fc.assert(
    fc.property(fc.array(fc.oneof(near, any)), (times) => {
      for (const ms of times) t.is(timeText(ms), JSON.stringify(new Date(ms)));
    }),
  );
});
