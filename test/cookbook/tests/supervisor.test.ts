import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '@agent-workflow/graph';
import { fakeModel, user, walk } from '@agent-workflow/graph/testing';
import { createAgent } from '../agents/supervisor.ts';

test('the supervisor sends the work to each agent and ends when it is done', async () => {
  const model = fakeModel([
    '{"next":"research"}',
    'Tea is made of leaves.',
    '{"next":"write"}',
    'All about tea.',
    '{"next":"finish"}',
  ]);
  const { state, steps } = await walk(createAgent(model), { context: [user('An article about tea')] });
  assert.deepEqual(steps.flat(), ['supervise', 'research', 'supervise', 'write', 'supervise']);
  assert.deepEqual(state.context.slice(1).map(textOf), ['Tea is made of leaves.', 'All about tea.']);
  assert.deepEqual(
    model.questions.map(({ instructions }) => instructions),
    ['Who works next?', 'Collect facts.', 'Who works next?', 'Write the article from the facts.', 'Who works next?'],
  );
  assert.ok(model.questions[3]?.messages.some((message) => textOf(message) === 'Tea is made of leaves.'));
});
