import test from 'ava';
import { decisionsOf } from './decisions.ts';
import { questionOf } from './question.ts';

const asked = (value: unknown) => decisionsOf(questionOf({ id: 'i', node: 'ask', value }));
const labels = (value: unknown) => asked(value)?.choices.map(({ label, kind }) => `${label}: ${kind}`);

test('a few short values are buttons, and known words say which of them approves', (t) => {
  t.deepEqual(labels({ question: 'Pay?', options: ['approve', 'reject', 'Ask Ada'] }), [
    'Approve: approve',
    'Reject: reject',
    'Ask Ada: other',
  ]);
  t.deepEqual(
    asked({ question: 'How many?', options: [1, 2] })?.choices.map(({ json }) => json),
    ['1', '2'],
  );
  t.is(asked({ question: 'Which?', options: ['a', 'b', 'c', 'd', 'e', 'f'] }), undefined);
  t.is(asked({ question: 'Which?', options: ['a', 'b'.repeat(41)] }), undefined);
});

test('a yes or no is approved or rejected, also as the one field of a form that says so', (t) => {
  t.deepEqual(labels({ question: 'Pay?', schema: { type: 'boolean' } }), ['Approve: approve', 'Reject: reject']);
  const properties = { approved: { type: 'boolean' }, reason: { type: 'string' } };
  t.is(asked({ question: 'Pay?', schema: { properties } })?.field, 'approved');
  const worded = { decision: { enum: ['allow', 'deny'] }, note: { type: 'string' } };
  t.deepEqual(labels({ question: 'Pay?', schema: { properties: worded } }), ['Allow: approve', 'Deny: reject']);
});

test('a form whose fields do not decide, or of which two might, is filled in', (t) => {
  t.is(asked('Who?'), undefined);
  t.is(asked({ question: 'What?', schema: { properties: { sauna: { type: 'boolean' } } } }), undefined);
  const both = { approve: { type: 'boolean' }, allow: { type: 'boolean' } };
  t.is(asked({ question: 'What?', schema: { properties: both } }), undefined);
});
