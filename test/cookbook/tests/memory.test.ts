import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeMemory, lastText, user, walk } from '@agent-workflow/graph/testing';
import { graph } from '../agents/memory.ts';

test('a fact of one thread is found in another', async () => {
  const memory = fakeMemory();
  const answerTo = async (text: string, threadId: string): Promise<string> =>
    lastText(await walk(graph, { context: [user(text)], run: { memory, threadId } }));
  assert.equal(await answerTo('Which colour do I like?', 'one'), 'I do not know.');
  assert.equal(await answerTo('Remember that my favourite colour is green', 'one'), 'I will remember it.');
  assert.equal(await answerTo('Which colour do I like?', 'two'), 'You wrote: my favourite colour is green');
  assert.deepEqual(
    memory.stored.map(({ category }) => category),
    ['facts'],
  );
});
