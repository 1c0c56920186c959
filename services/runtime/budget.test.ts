import test from 'ava';
import { createByteBudget } from './budget.ts';

const never = new AbortController().signal;

test('what fits is let in, what does not is refused until something is given back', (t) => {
  const budget = createByteBudget(10);
  const first = budget.tryTake(6);
  t.truthy(first);
  t.is(budget.tryTake(5), undefined);
  t.truthy(budget.tryTake(4));
  t.true(budget.isFull());
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  t.false(budget.isFull());
  t.is(budget.tryTake(7), undefined, 'giving back twice counts once');
  t.truthy(budget.tryTake(6));
});

test('what is larger than all of it is let in alone', (t) => {
  const budget = createByteBudget(10);
  const large = budget.tryTake(100);
  t.truthy(large);
  t.is(budget.tryTake(1), undefined);
  large?.[Symbol.dispose]();
  t.truthy(budget.tryTake(1));
  t.is(budget.tryTake(100), undefined);
});

test('who waits is let in in order, and nobody passes', async (t) => {
  const budget = createByteBudget(10);
  const first = await budget.take(10, never);
  const order: string[] = [];
  const large = budget.take(9, never).then((room) => {
    order.push('large');
    return room;
  });
  const small = budget.take(2, never).then((room) => {
    order.push('small');
    return room;
  });
  t.is(budget.tryTake(0), undefined);
  first[Symbol.dispose]();
  (await large)[Symbol.dispose]();
  await small;
  t.deepEqual(order, ['large', 'small']);
});

test('who leaves holds up nobody behind', async (t) => {
  const budget = createByteBudget(10);
  const held = await budget.take(5, never);
  const leaving = new AbortController();
  const large = budget.take(9, leaving.signal);
  const small = budget.take(5, never);
  leaving.abort(new Error('it left'));
  await t.throwsAsync(large, { message: 'it left' });
  await small;
  held[Symbol.dispose]();
  await t.throwsAsync(budget.take(1, AbortSignal.abort(new Error('too late'))), { message: 'too late' });
});
