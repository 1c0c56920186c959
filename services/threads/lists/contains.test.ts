import fc from 'fast-check';
import test from 'ava';
import { containing } from './contains.ts';

test('it finds what String.includes finds', (t) => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 300 });
  fc.assert(
    fc.property(letters, letters, fc.nat(300), (text, other, start) => {
      for (const needle of [other, text.slice(start), text.slice(start, start + 70), `${text.slice(1)}b`])
        if (containing(needle)(text) !== text.includes(needle)) return false;
      return true;
    }),
  );
  t.pass();
});
