import test from 'ava';
import { questionOf } from './question.ts';

const asked = (value: unknown) => questionOf({ id: 'i', node: 'ask', value });

test('a question is its words, and the rest of the value is shown beside them', (t) => {
  t.deepEqual(asked('Go on?'), { id: 'i', node: 'ask', text: 'Go on?' });
  t.deepEqual(asked({ question: 'Go on?' }), { id: 'i', node: 'ask', text: 'Go on?' });
  t.like(asked({ message: 'Pay?', amount: 40 }), { text: 'Pay?', value: { amount: 40 } });
  t.is(asked(7).text, '7');
});

test('a schema or a list of choices makes a form of the answer', (t) => {
  t.is(
    asked({ question: 'Who?', schema: { type: 'object', properties: { name: { type: 'string' } } } }).form?.fields[0]
      ?.name,
    'name',
  );
  t.deepEqual(asked({ question: 'Which?', options: ['a', 'b'] }).form?.fields[0]?.choices, ['"a"', '"b"']);
  t.is(asked({ question: 'Which?', options: ['a', 'b'] }).value, undefined);
  t.is(asked({ question: 'Why?' }).form, undefined);
});

test('the field of a question with one is the answer, unless its schema gives it a title', (t) => {
  t.is(asked({ question: 'How old?', schema: { type: 'integer' } }).form?.fields[0]?.label, 'Answer');
  t.is(asked({ question: 'How old?', schema: { type: 'integer', title: 'Age' } }).form?.fields[0]?.label, 'Age');
});
