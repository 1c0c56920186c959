import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCalls, textOf, type Message } from '@agent-workflow/graph';
import { fakeModel, user, walk } from '@agent-workflow/graph/testing';
import { createAgent } from '../agents/browser-tool.ts';

test('the run waits for the browser and goes on with its result', async () => {
  const model = fakeModel([{ call: 'locate' }, 'You are in Lisbon.']);
  const graph = createAgent(model);
  const waiting = await walk(graph, { context: [user('Where am I?')] });
  assert.deepEqual([waiting.waiting, waiting.interrupts], [true, []]);
  const [call] = openCalls(waiting.state.context);
  assert.deepEqual([call?.type, call?.name], ['remote_tool_call', 'locate']);

  const result: Message = {
    message_id: 'result',
    role: 'tool',
    content: [{ type: 'tool_result', call_id: call?.id, output: { city: 'Lisbon' } }],
    timestamp: new Date().toISOString(),
  };
  const { state } = await walk(graph, { from: waiting, context: [result] });
  assert.equal(state.context.map(textOf).at(-1), 'You are in Lisbon.');
  assert.deepEqual(model.questions[1]?.messages.at(-1), result);
});
