import test from 'ava';
import fc from 'fast-check';
import { jsonBytes, jsonObject, jsonText } from './json.ts';

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
