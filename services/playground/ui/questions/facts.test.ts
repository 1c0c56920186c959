import test from 'ava';
import { factsOf } from './facts.ts';

test('short fields are facts, and what is long or nested stays a value', (t) => {
  const { pairs, rest } = factsOf({ order_id: 'A-1042', amount: 249, urgent: true, items: [1], note: 'x'.repeat(121) });
  t.deepEqual(pairs, [
    ['Order id', 'A-1042'],
    ['Amount', '249'],
    ['Urgent', 'true'],
  ]);
  t.deepEqual(rest, { items: [1], note: 'x'.repeat(121) });
  t.deepEqual(factsOf(undefined), { pairs: [], rest: undefined });
});

test('no more than eight are facts', (t) => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`field ${String(index)}`, index]));
  const { pairs, rest } = factsOf(many);
  t.is(pairs.length, 8);
  t.is(Object.keys(rest ?? {}).length, 12);
});
