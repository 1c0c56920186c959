import test from 'ava';
import { createHedgeBudget } from './hedge-budget.ts';

const takeAll = (budget: ReturnType<typeof createHedgeBudget>): number => {
  let taken = 0;
  while (budget.take()) taken++;
  return taken;
};

test('of many calls that are slow at once 20 are made a second time', (t) => {
  t.is(takeAll(createHedgeBudget()), 20);
});

test('where every call is slow, one in ten is made a second time', (t) => {
  const budget = createHedgeBudget();
  takeAll(budget);
  for (let answers = 0; answers < 101; answers++) budget.answered();
  t.is(takeAll(budget), 10);
  for (let answers = 0; answers < 1000; answers++) budget.answered();
  t.is(takeAll(budget), 20);
});
