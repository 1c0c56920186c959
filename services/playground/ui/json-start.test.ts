import test from 'ava';
import fc from 'fast-check';
import { jsonStart } from './json-start.ts';

const json = fc.jsonValue({ maxDepth: 6 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

test('a value that fits is written as JSON writes it', (t) => {
  fc.assert(
    fc.property(json, (value) => {
      t.deepEqual(jsonStart(value, 1e6), { text: JSON.stringify(value), isCut: false });
    }),
  );
});

test('a longer value is written as far as its bound', (t) => {
  fc.assert(
    fc.property(json, fc.nat(50), (value, limit) => {
      const whole = JSON.stringify(value);
      t.deepEqual(jsonStart(value, limit), { text: whole.slice(0, limit), isCut: whole.length > limit });
    }),
  );
});

test('a value costs no more than what is shown of it', (t) => {
  let read = 0;
  const watched = Array.from({ length: 100_000 }, () =>
    Object.defineProperty({}, 'field', { enumerable: true, get: () => (read += 1) }),
  );
  t.is(jsonStart(watched, 1000).text.length, 1000);
  t.true(read < 200, String(read));
});

test('a value that nests as deep as the service takes is whole, and one that nests deeper is cut', (t) => {
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < depth; level++) value = [value];
    return value;
  };
  t.is(jsonStart(nested(128), 1e6).text, JSON.stringify(nested(128)));
  t.true(jsonStart(nested(100_000), 1e6).isCut);
});
