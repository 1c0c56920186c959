import fc from 'fast-check';
import test from 'ava';
import { placesOf } from './places-of.ts';

test('a text is found in upper and lower case, as often as it stands there', (t) => {
  t.deepEqual(placesOf('Refund the refund', 'REFUND'), [0, 11]);
  t.deepEqual(placesOf('aaaa', 'aa'), [0, 2]);
  t.deepEqual(placesOf('anything', ''), []);
  t.is(placesOf('a'.repeat(5000), 'a').length, 1000);
});

test('each place holds what is sought, also where a letter is longer in lower case', (t) => {
  t.deepEqual(placesOf('İstanbul Istanbul', 'Istanbul'), [9]);
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1, maxLength: 3 }), (text, sought) => {
      for (const at of placesOf(text, sought))
        t.is(text.slice(at, at + sought.length).toLowerCase(), sought.toLowerCase());
    }),
  );
});
