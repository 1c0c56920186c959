import test from 'ava';
import { bytesOfTexts, refuseMany, refuseOver, sizes } from './sizes.ts';

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

test('a limit leaves room for what it has to hold', (t) => {
  const { message, step, undo, change, toolRecord, body, input, context, contextWithInput } = sizes;
  t.true(message <= step && toolRecord <= step && step <= change && undo <= change);
  t.true(message <= body && body <= input && input <= change);
  t.true(context + body <= contextWithInput);
});
