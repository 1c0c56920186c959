import test from 'ava';
import fc from 'fast-check';
import { partsOf } from './text-parts.ts';

test('the parts of a long text make the text, and none is longer than its bound', (t) => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (text, size) => {
      const parts = partsOf(text, size);
      t.is(parts.join(''), text);
      t.true(parts.every(({ length }) => length > 0 && length <= size + 1));
    }),
  );
});
