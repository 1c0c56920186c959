import fc from 'fast-check';
import test from 'ava';
import { ownerOf } from '@agent-workflow/kit/ids';
import { fromShareId, toShareId } from './share.ts';

test('the address of a share leads to its owner and its id, whatever characters the owner has', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.uuid({ version: 7 }), (user, id) => {
      fc.pre(user.isWellFormed());
      const key = { owner: ownerOf(user), id };
      t.deepEqual(fromShareId(toShareId(key)), key);
    }),
  );
});

test('a text that is written in another way than an address is none', (t) => {
  const address = toShareId({ owner: ownerOf('ada'), id: 'share' });
  for (const text of ['', '.', 'share', 'share.', `.${address}`, `${address}=`, `${address}.`, `${address} `])
    t.is(fromShareId(text), undefined, text);
});
