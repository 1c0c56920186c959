import test from 'ava';
import fc from 'fast-check';
import { fromItemId, idsBelow, toItemId } from './item-id.ts';

const label = fc.string({ minLength: 1, unit: 'binary' }).map((text) => text.replaceAll('.', '-'));
const place = fc.record({ namespace: fc.array(label, { minLength: 1, maxLength: 4 }), key: fc.string() });
const bytes = (text: string): Buffer => Buffer.from(text);

test('an id gives its place back', (t) => {
  fc.assert(fc.property(place, (one) => t.deepEqual(fromItemId(toItemId(one)), one)));
  t.deepEqual(fromItemId(toItemId({ namespace: ['a'], key: '..b.' })), { namespace: ['a'], key: '..b.' });
});

test('the ids between two are those of a namespace and of what is below it', (t) => {
  const prefix = fc.array(label, { minLength: 1, maxLength: 2 });
  fc.assert(
    fc.property(place, prefix, fc.boolean(), (one, other, isInside) => {
      const namespace = isInside ? [...other, ...one.namespace] : one.namespace;
      const { fromId = '', belowId = '' } = idsBelow(other);
      const id = bytes(toItemId({ ...one, namespace }));
      const isBetween = Buffer.compare(id, bytes(fromId)) >= 0 && Buffer.compare(id, bytes(belowId)) < 0;
      t.is(
        isBetween,
        other.every((part, index) => namespace[index] === part),
      );
    }),
  );
});
