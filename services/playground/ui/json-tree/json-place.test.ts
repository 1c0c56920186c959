import test from 'ava';
import { findPlace } from './json-place.ts';
import type { Path } from '../path-text.ts';

function at(text: string, path: Path): string | undefined {
  const finding = findPlace(text, path);
  for (;;) {
    const next = finding.next();
    if (next.done) return next.value && text.slice(next.value.start, next.value.end);
  }
}

test('a value is found by the way to it, as it is written', (t) => {
  const text = '{"data": {"state": {"n": 10000000000000000001, "list": [1, {"a b": "x"}]}}}';
  t.is(at(text, ['data', 'state', 'n']), '10000000000000000001');
  t.is(at(text, ['data', 'state', 'list', 1, 'a b']), '"x"');
  t.is(at(text, []), text);
});

test('of two fields of one name the last counts, and where there is none there is nothing', (t) => {
  t.is(at('{"a":1,"a":2}', ['a']), '2');
  t.is(at('{"a":1}', ['b']), undefined);
  t.is(at('{"a":1}', ['a', 'b']), undefined);
  t.is(at('[1]', [1]), undefined);
  t.is(at('[1]', ['0']), undefined);
});
