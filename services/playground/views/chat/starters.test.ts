import test from 'ava';
import { sentenceOf, startersOf } from './starters.ts';

const agent = (description: string | null, tools: readonly string[] = []) => ({
  description,
  tools: tools.map((name) => ({ name, description: `Does ${name}. And more.`, parameters: {}, remote: false })),
});

test('the examples of a description are offered: its items, else its quotes', (t) => {
  const texts = (description: string) => startersOf(agent(description)).map(({ text }) => text);
  t.deepEqual(texts('Answers about orders:\n- “Where is my parcel?”\n* What may be sent back?'), [
    'Where is my parcel?',
    'What may be sent back?',
  ]);
  t.deepEqual(texts('Ask it “Where is it?” or “Was it paid?”.'), ['Where is it?', 'Was it paid?']);
  t.deepEqual(texts('Say "hello" or "bye"'), ['hello', 'bye']);
  t.is(texts('Ask:\n- a\n- b\n- c\n- d\n- e').length, 4);
});

test('without examples the tools are offered, and without tools nothing is', (t) => {
  t.deepEqual(startersOf(agent('Adds.', ['add'])), [{ title: 'Use add', about: 'Does add.', text: 'Use add: ' }]);
  t.deepEqual(startersOf(agent(null)), []);
});

test('the sentence of an agent is its own, and says what is known where it has none', (t) => {
  t.is(sentenceOf({ description: 'Answers.\n- An example', tools: [] }), 'Answers.');
  t.is(sentenceOf({ description: null, tools: ['add', 'find'] }), 'It has no description. Its tools are add, find.');
  t.regex(sentenceOf({ description: '', tools: [] }), /no description and no tools/);
});
