import test from 'ava';
import { causeOf, reasonBeside } from './cause.ts';

const node = 'pay';
const hidden = { node, message: 'node "pay" failed: an unexpected error, which is in the log of the service' };
const stack = '';

test('a cause is what was thrown where it may be seen, else what the service says, without the name of the node', (t) => {
  t.is(causeOf(hidden), 'an unexpected error, which is in the log of the service');
  t.is(causeOf(hidden, { name: 'Error', message: 'no money', stack }), 'no money');
  t.is(causeOf(hidden, { name: 'TypeError', message: 'no money', stack }), 'TypeError: no money');
  t.is(causeOf({ message: 'late' }), 'late');
});

test('a sentence that holds what was thrown is not replaced by it', (t) => {
  const open = { node, message: 'node "pay" failed: the bank says: no money' };
  t.is(causeOf(open, { name: 'UserError', message: 'no money', stack }), 'the bank says: no money');
  t.is(causeOf(open, { name: 'Error', message: '', stack }), 'the bank says: no money');
});

test('a word stands beside a cause only where it says more', (t) => {
  const thrown = { name: 'Error', message: 'no money', stack };
  t.is(reasonBeside({ code: 'NODE_ERROR', reason: 'unexpected' }, thrown), undefined);
  t.is(reasonBeside({ code: 'NODE_ERROR' }, thrown), undefined);
  t.is(reasonBeside({ code: 'NODE_ERROR', reason: 'unexpected' }, undefined), 'unexpected');
  t.is(reasonBeside({ code: 'NODE_ERROR', reason: 'rate_limited' }, thrown), 'rate_limited');
  t.is(reasonBeside({ code: 'RUN_STEPS' }, undefined), 'RUN_STEPS');
});
