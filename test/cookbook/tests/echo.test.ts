import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';
import { graph } from '../agents/echo.ts';

test('the last message is repeated', async () => {
  const { state } = await walk(graph, { context: [user('Hello'), user('Good morning')] });
  assert.deepEqual(state.context.map(textOf), ['Hello', 'Good morning', 'You wrote: Good morning']);
});
