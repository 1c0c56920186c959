import test from 'ava';
import { bytesOfTexts, refuseMany, refuseOver } from './sizes.ts';

test('what exceeds a bound is refused with its field, its size and the bound; what is as large is not', (t) => {
  t.notThrows(() => refuseOver(bytesOfTexts(['ä', 'bc']), 4, ['config']));
  t.like(
    t.throws(() => refuseOver(5, 4, ['config'])),
    { message: 'config: has 5 bytes, more than 4', details: [{ field: ['config'], type: 'too_large' }] },
  );
  t.notThrows(() => refuseMany(2, 2, ['messages']));
  t.like(
    t.throws(() => refuseMany(3, 2, ['messages'])),
    { message: 'messages: has 3 entries, more than 2', details: [{ field: ['messages'], type: 'too_long' }] },
  );
});
