import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';
import { graph } from './agent.ts';

test('a sum is answered with the help of the tool', async () => {
  const { state, steps } = await walk(graph, { context: [user('What is 2 + 3?')] });
  const answer = state.context.at(-1);
  assert.deepEqual(steps, [['agent'], ['tools'], ['agent']]);
  assert.equal(answer && textOf(answer), 'The sum is 5.');
  assert.equal(state.values['sums'], 1);
});
