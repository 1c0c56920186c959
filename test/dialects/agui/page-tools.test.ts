import { HttpAgent } from '@ag-ui/client';
import test from 'ava';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';

const service = serve(test, undefined, { DIALECTS: 'agui' });

const tools = [{ name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }];

test('a tool of the page ends the run with an open call, and its result goes on', async (t) => {
  const agent = new HttpAgent({ url: `${service.url()}/agui/${testedAgent}`, threadId: crypto.randomUUID() });
  const outcomes: unknown[] = [];
  agent.subscribe({ onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome) });
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'call look call-1' });
  await agent.runAgent({ tools });
  t.deepEqual(outcomes, [{ type: 'success', pendingToolCallIds: ['call-1'] }]);
  const called = agent.messages.at(-1);
  t.like(called, { role: 'assistant', toolCalls: [{ id: 'call-1', function: { name: 'look' } }] });
  agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: 'call-1', content: 'a cat' });
  await agent.runAgent({ tools });
  t.deepEqual(outcomes.at(-1), { type: 'success' });
  t.is(agent.messages.at(-1)?.role, 'assistant');
});

test('a run that fails ends with its error, and an agent that is not there is not found', async (t) => {
  const agent = new HttpAgent({ url: `${service.url()}/agui/${testedAgent}`, threadId: crypto.randomUUID() });
  const errors: unknown[] = [];
  agent.subscribe({ onRunErrorEvent: ({ event }) => void errors.push([event.code, event.message]) });
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'fail now' });
  await agent.runAgent().catch(() => undefined);
  t.is(errors.length, 1);
  t.regex(String(errors[0]), /NODE_ERROR/);
  const body = JSON.stringify({ threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'x' }] });
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`${service.url()}/agui/absent`, { method: 'POST', headers, body });
  t.is(reply.status, 404, await reply.text());
});

test('a client of an earlier version reads no outcome of a success, by which it goes on with a tool of the page', async (t) => {
  const body = {
    ...{ threadId: crypto.randomUUID(), runId: 'run', tools },
    messages: [{ id: 'm', role: 'user', content: 'call look call-1' }],
  };
  const lastOf = async (more: object): Promise<object> => {
    const reply = await fetch(`${service.url()}/agui/${testedAgent}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...more }),
    });
    return JSON.parse((await reply.text()).trimEnd().split('\ndata: ').at(-1) ?? '') as object;
  };
  const earlier = await lastOf({});
  t.like(earlier, { type: 'RUN_FINISHED' });
  t.false('outcome' in earlier);
  t.like(await lastOf({ protocolVersion: '1.0', threadId: crypto.randomUUID() }), { outcome: { type: 'success' } });
});
