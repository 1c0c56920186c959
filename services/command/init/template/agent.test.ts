import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeMemory, lastText, user, walk } from '@agent-workflow/graph/testing';
import { graph } from './agent.ts';

const run = { memory: fakeMemory() };
const answerTo = async (text = '') => lastText(await walk(graph, { context: [user(text)], run }));

test('a calculation is answered with the help of the tool', async () => {
  const walked = await walk(graph, { context: [user('What is 12 * 7?')] });
  assert.deepEqual(walked.steps, [['agent'], ['tools'], ['agent']]);
  assert.equal(lastText(walked), '12 * 7 = 84');
  assert.equal(await answerTo('What is -2 * (3 + 4.5) - 1?'), '-2 * (3 + 4.5) - 1 = -16');
  assert.equal(await answerTo('1 / 0'), '1 / 0 cannot be worked out');
  assert.equal(await answerTo('2 + (3'), '2 + (3 cannot be worked out');
  for (const other of ['1,000 * 2', '2^10', '10 % 3', '10 * 1e3']) {
    assert.equal(await answerTo(`What is ${other}?`), `${other} cannot be worked out`);
  }
});

test('a fact is remembered whole, also one with numbers', async () => {
  assert.equal(await answerTo('Remember that my number is 555-1234'), 'I will remember: my number is 555-1234');
});

test('a name is kept in the state of the thread', async () => {
  const walked = await walk(graph, { context: [user('My name is Ada.')] });
  assert.equal(walked.state.values['user_name'], 'Ada');
});
