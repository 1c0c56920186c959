import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeModel, lastText, toolResult, user, walk } from '@agent-workflow/graph/testing';
import { createAgent } from '../agents/browser-tool.ts';

test('the run waits for the browser and goes on with its result', async () => {
  const graph = createAgent(fakeModel([{ call: 'locate' }, 'You are in Lisbon.']));
  const waiting = await walk(graph, { context: [user('Where am I?')] });
  assert.deepEqual([waiting.ended, waiting.interrupts], ['waiting', []]);
  const [call] = waiting.openCalls;
  assert.ok(call);
  assert.deepEqual([call.type, call.name], ['remote_tool_call', 'locate']);

  const walked = await walk(graph, { from: waiting, context: [toolResult(call, { city: 'Lisbon' })] });
  assert.equal(lastText(walked), 'You are in Lisbon.');
});
