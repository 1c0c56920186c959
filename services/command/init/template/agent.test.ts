import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastText, user, walk } from '@agent-workflow/graph/testing';
import { graph } from './agent.ts';

test('a sum is answered with the help of the tool', async () => {
  const walked = await walk(graph, { context: [user('What is 2 + 3?')] });
  assert.deepEqual(walked.steps, [['agent'], ['tools'], ['agent']]);
  assert.equal(lastText(walked), 'The sum is 5.');
  assert.equal(walked.state.values['sums'], 1);
});
