import assert from 'node:assert/strict';
import { test } from 'node:test';
import { user, walk } from '@agent-workflow/graph/testing';
import { graph } from '../agents/reducers.ts';

test('both nodes write each field in one step, and the reducers merge in the order of the nodes', async () => {
  const { state, steps } = await walk(graph, { context: [user('green tea'), user('tea or coffee')] });
  assert.deepEqual(steps, [['question', 'history']]);
  assert.equal(state.values['total'], 5);
  assert.equal(state.values['longest'], 'coffee');
  assert.deepEqual(state.values['words'], ['tea', 'or', 'coffee', 'green']);
});
