import test from 'ava';
import { readEnv } from '@agent-workflow/kit/env';
import { budgetSettings, inFlightBytes } from './budget.ts';
import { memoryBudget, memoryBudgetOf, memoryBudgetSettings } from './memory-budget.ts';

const mebibyte = 1024 * 1024;

test('the budget is what the setting says; a value that is refused later counts as none', (t) => {
  t.is(memoryBudget(readEnv(memoryBudgetSettings, { MEMORY_BUDGET_MB: '300' })), 300 * mebibyte);
  t.is(memoryBudgetOf({ MEMORY_BUDGET_MB: '300' }), 300 * mebibyte);
  const unset = memoryBudget(readEnv(memoryBudgetSettings, {}));
  t.true(unset >= 192 * mebibyte);
  for (const text of ['', 'much', '12', '-1']) t.is(memoryBudgetOf({ MEMORY_BUDGET_MB: text }), unset);
  t.is(memoryBudgetOf({}), unset);
  t.throws(() => readEnv(memoryBudgetSettings, { MEMORY_BUDGET_MB: '12' }), {
    message: 'MEMORY_BUDGET_MB must be a whole number from 192 to 1048576, not "12"',
  });
});

test('what is in flight has a sixteenth of the budget unless it has a bound of its own', (t) => {
  const bytesOf = (env: Readonly<Record<string, string>>): number => inFlightBytes(readEnv(budgetSettings, env));
  t.is(bytesOf({ MEMORY_BUDGET_MB: '320' }), 20 * mebibyte);
  t.is(bytesOf({ MEMORY_BUDGET_MB: '320', IN_FLIGHT_MB: '64' }), 64 * mebibyte);
});

test('unset, the budget is the limit of the container, or a usual one where there is none', (t) => {
  const total = 8192 * mebibyte;
  const budgetIn = (limit: number): number =>
    memoryBudget(readEnv(memoryBudgetSettings, {}), { limit, total }) / mebibyte;
  t.is(budgetIn(1024 * mebibyte), 1024);
  t.is(budgetIn(64 * mebibyte), 192);
  for (const limit of [0, total, 2 ** 64]) t.is(budgetIn(limit), 512);
});
