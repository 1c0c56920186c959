import test from 'ava';
import fc from 'fast-check';
import { writeJson } from './json-writer.ts';

function write(value: unknown): string {
  const writing = writeJson(value);
  for (;;) {
    const next = writing.next();
    if (next.done) return next.value;
  }
}

test('a value is written as JSON has it', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      t.is(write(value), JSON.stringify(value));
    }),
  );
});

test('what JSON has no word for is null, and a field without a value is none', (t) => {
  t.is(write(undefined), 'null');
  t.is(write({ a: undefined, b: [() => 1, undefined] }), '{"b":[null,null]}');
});

test('a value of many levels is written as far as a reader can follow', (t) => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  t.true(write(deep).includes('"…"'));
});
