import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';
import { graph } from '../agents/plain.js';

test('the state of a thread stays from one turn to the next', async () => {
  const first = await walk(graph, { context: [user('Hello')] });
  const second = await walk(graph, { from: first, context: [user('Hello again')] });
  assert.deepEqual(second.state.context.map(textOf), ['Hello', 'Turn 1.', 'Hello again', 'Turn 2.']);
});
