import test from 'ava';
import { areForOthers } from './for-others.ts';

test('a thread whose questions others answer waits for nobody here', (t) => {
  const toManager = { to: ['manager'] };
  t.true(areForOthers([toManager]));
  t.false(areForOthers([toManager, {}]));
  t.false(areForOthers([]));
});
