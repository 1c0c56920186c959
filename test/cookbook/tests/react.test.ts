import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeModel, lastText, user, walk } from '@agent-workflow/graph/testing';
import { createAgent } from '../agents/react.ts';

test('the agent calls its tools until the model answers without a call', async () => {
  const model = fakeModel([
    { call: 'find', args: { id: 'A1' } },
    { call: 'cancel', args: { id: 'A1' } },
    'Order A1 is cancelled.',
  ]);
  const walked = await walk(createAgent(model), { context: [user('Please cancel A1')] });
  assert.deepEqual(walked.steps.flat(), ['agent', 'tools', 'agent', 'tools', 'agent']);
  assert.equal(lastText(walked), 'Order A1 is cancelled.');
  assert.equal(model.questions[0]?.instructions, 'You help with orders.');
  assert.deepEqual(
    model.questions[0].tools.map(({ name }) => name),
    ['find', 'cancel'],
  );
});

test('the model reads the error of a tool and answers with it', async () => {
  const model = fakeModel([{ call: 'cancel', args: { id: 'B2' } }, 'I cannot find B2.']);
  await walk(createAgent(model), { context: [user('Cancel B2')] });
  const result = model.questions[1]?.messages.at(-1)?.content[0];
  assert.deepEqual([result?.['is_error'], result?.['output']], [true, 'There is no order B2.']);
});
