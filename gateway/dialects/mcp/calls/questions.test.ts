import test from 'ava';
import { answersIn, questionsIn, toInputRequests } from './questions.ts';

const question = (id: string, value: unknown) => ({ id, node: 'ask', value });

test('a question whose schema is no schema takes an answer', (t) => {
  const required = [{ toString: 1, valueOf: 1 }, 'name'];
  const requests = toInputRequests([question('q', { type: 'elicitation', message: 'Who?', schema: { required } })]);
  t.deepEqual(answersIn(requests, { q: { action: 'accept', content: {} } }), {});
  const reply = { action: 'accept', content: { name: 'Ada' } };
  t.deepEqual(answersIn(requests, { q: reply }), { q: reply });
});

test('a key stays that of the question that had it', (t) => {
  const keys = (id: string, earlier?: ReadonlyMap<string, string>): readonly string[] =>
    [...toInputRequests([question(id, { key: 'confirm', question: 'Sure?' })], earlier).values()].map(({ key }) => key);
  t.deepEqual(keys('a'), ['confirm']);
  t.deepEqual(keys('a', new Map([['confirm', 'a']])), ['confirm']);
  t.deepEqual(keys('b', new Map([['confirm', 'a']])), ['b']);
});

test('a stop before a node is no question', (t) => {
  const json = JSON.stringify([question('a', { breakpoint: 'before', nodes: ['x'] }), question('b', 'Sure?')]);
  t.deepEqual(
    questionsIn(json).map(({ id }) => id),
    ['b'],
  );
  t.deepEqual(questionsIn(undefined), []);
});
