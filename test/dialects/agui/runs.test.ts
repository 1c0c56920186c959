import { HttpAgent, type AgentSubscriber } from '@ag-ui/client';
import test, { type ExecutionContext } from 'ava';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';

const service = serve(test, 'typing', { DIALECTS: 'agui' });

const url = (): string => `${service.url()}/agui/${testedAgent}`;

/** An agent of AG-UI's own client, and the types of the events that it got. */
function openAgent(threadId: string = crypto.randomUUID()) {
  const agent = new HttpAgent({ url: url(), threadId });
  const types: string[] = [];
  const finished: unknown[] = [];
  const noting: AgentSubscriber = {
    onEvent: ({ event }) => void types.push(event.type),
    onRunFinishedEvent: ({ event }) => void finished.push(event.outcome),
  };
  agent.subscribe(noting);
  return { agent, types, finished, threadId };
}

const addUser = (agent: HttpAgent, text: string): void =>
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

test('a run streams to the client of AG-UI, which verifies the order of its events', async (t) => {
  const { agent, types, finished } = openAgent();
  addUser(agent, 'hello');
  await agent.runAgent();
  t.deepEqual(
    agent.messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'hello'],
      ['assistant', answer],
    ],
  );
  t.deepEqual(agent.state, { turns: 1 });
  t.deepEqual(types.slice(0, 3), ['RUN_STARTED', 'STATE_SNAPSHOT', 'STEP_STARTED']);
  t.is(types.at(-1), 'RUN_FINISHED');
  t.true(types.filter((type) => type === 'TEXT_MESSAGE_CONTENT').length > 5);
  t.true(types.includes('STATE_DELTA') && types.includes('CUSTOM'));
  t.deepEqual(finished, [{ type: 'success' }]);
});

test('the history that comes with each run is not added again, and the state that comes back changes nothing', async (t) => {
  const { agent, threadId } = openAgent();
  for (const text of ['one', 'two', 'three']) {
    addUser(agent, text);
    await agent.runAgent();
  }
  t.deepEqual(agent.state, { turns: 3 });
  const { body } = await service.send('GET', `/v1/threads/${threadId}/messages`);
  const { messages } = body.data as { readonly messages: readonly { readonly role: string }[] };
  t.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user', 'assistant', 'user', 'assistant'],
  );
});

test('a request without a history goes on with a thread that is there, and its state that comes back changes nothing', async (t) => {
  const { agent, threadId } = openAgent();
  addUser(agent, 'one');
  await agent.runAgent();
  const other = openAgent(threadId);
  other.agent.setState({ turns: 1 });
  addUser(other.agent, 'two');
  await other.agent.runAgent();
  t.deepEqual(other.agent.state, { turns: 2 });
  const { body } = await service.send('GET', `/v1/threads/${threadId}/messages`);
  const { messages } = body.data as { readonly messages: readonly { readonly role: string }[] };
  t.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user', 'assistant'],
  );
});

test('a tool of the agent is called and answered on the page', async (t) => {
  const { agent, types } = openAgent();
  addUser(agent, 'what time is it');
  await agent.runAgent();
  const roles = agent.messages.map(({ role }) => role);
  t.true(roles.includes('tool'), roles.join());
  const called = agent.messages.find((message) => 'toolCalls' in message);
  t.like(called, { toolCalls: [{ function: { name: 'clock', arguments: '{"zone":"UTC"}' } }] });
  t.deepEqual(
    types.filter((type) => type.startsWith('TOOL_CALL')),
    ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT'],
  );
});

test('a question is an interrupt, and its answer goes on', async (t) => {
  const { agent, finished } = openAgent();
  addUser(agent, 'are you sure');
  await agent.runAgent();
  const [outcome] = finished as { readonly interrupts: readonly { readonly id: string; readonly message: string }[] }[];
  t.like(outcome, { type: 'interrupt', interrupts: [{ reason: 'input_required', message: 'sure?' }] });
  const interruptId = outcome?.interrupts[0]?.id ?? '';
  await agent.runAgent({ resume: [{ interruptId, status: 'resolved', payload: 'yes' }] });
  t.is(agent.messages.at(-1)?.content, 'you said yes');
  t.deepEqual(finished.at(-1), { type: 'success' });
});

test('a page that gives a question a result, too, as if it were a call, is answered by its resume alone', async (t) => {
  const { agent, threadId } = openAgent();
  addUser(agent, 'are you sure');
  await agent.runAgent();
  const [question] = agent.pendingInterrupts;
  if (!question) throw new Error('nothing is asked');
  const { id } = question;
  agent.addMessage({ id: 'answered', role: 'tool', toolCallId: id, content: 'yes' });
  const alone = { ...input(threadId, 'are you sure'), messages: agent.messages };
  const refused = await post('', alone);
  t.is(refused.status, 400);
  t.regex(await refused.text(), /stands in resume/);
  await agent.runAgent({ resume: [{ interruptId: id, status: 'resolved', payload: 'yes' }] });
  t.is(agent.messages.at(-1)?.content, 'you said yes');
  addUser(agent, 'hello');
  await agent.runAgent();
  const { body } = await service.send('GET', `/v1/threads/${threadId}/messages`);
  const { messages } = body.data as { readonly messages: readonly { readonly role: string }[] };
  t.false(messages.some(({ role }) => role === 'tool'));
});

interface Sent {
  readonly id: string;
  readonly event: Readonly<Record<string, unknown>>;
}

/** The events of a reply, with their ids. */
async function eventsOf(response: Response): Promise<readonly Sent[]> {
  const blocks = (await response.text()).split('\n\n').filter((block) => block.startsWith('id: '));
  return blocks.map((block) => {
    const [id = '', data = ''] = block.split('\n');
    return { id: id.slice(4), event: JSON.parse(data.slice(6)) as Sent['event'] };
  });
}

const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${url()}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const input = (threadId: string, text: string): object => ({
  ...{ threadId, runId: crypto.randomUUID(), protocolVersion: '1.0', state: {}, tools: [], context: [] },
  messages: [{ id: crypto.randomUUID(), role: 'user', content: text }],
});

test('every event has an id, and a stream goes on after any of them with exactly those that follow', async (t) => {
  const threadId = crypto.randomUUID();
  const all = await eventsOf(await post('', input(threadId, 'what time is it')));
  t.is(new Set(all.map(({ id }) => id)).size, all.length);
  for (const index of [0, 1, 5, Math.floor(all.length / 2), all.length - 2]) {
    const rest = await eventsOf(await post('/connect', { threadId }, { 'last-event-id': all[index]?.id ?? '' }));
    t.deepEqual(rest, all.slice(index + 1), String(index));
  }
});

test('who connects without an id gets the thread as the newest run found it, and then that run', async (t) => {
  const threadId = crypto.randomUUID();
  await eventsOf(await post('', input(threadId, 'one')));
  await eventsOf(await post('', input(threadId, 'two')));
  const all = await eventsOf(await post('/connect', { threadId }));
  const [, snapshot, messages] = all;
  t.deepEqual([snapshot?.event['type'], snapshot?.event['snapshot']], ['STATE_SNAPSHOT', { turns: 1 }]);
  t.deepEqual(
    (messages?.event['messages'] as { readonly role: string }[]).map(({ role }) => role),
    ['user', 'assistant', 'user'],
  );
  t.is(all.at(-1)?.event['type'], 'RUN_FINISHED');
  for (const index of [0, 1, 2, all.length - 2]) {
    const rest = await eventsOf(await post('/connect', { threadId }, { 'last-event-id': all[index]?.id ?? '' }));
    t.deepEqual(rest, all.slice(index + 1), String(index));
  }
});

test('who is behind the end of a run that has ended gets its end, and who has it gets nothing', async (t) => {
  const threadId = crypto.randomUUID();
  const all = await eventsOf(await post('', input(threadId, 'one')));
  const last = all.at(-1)?.id ?? '';
  t.deepEqual(await eventsOf(await post('/connect', { threadId }, { 'last-event-id': last })), []);
  const beyond = `${last.slice(0, last.lastIndexOf(':'))}:99999.0`;
  const rest = await eventsOf(await post('/connect', { threadId }, { 'last-event-id': beyond }));
  t.deepEqual(
    rest.map(({ event }) => event['type']),
    ['RUN_FINISHED'],
  );
});

const refused = async (t: ExecutionContext, response: Response, status: number, text: RegExp): Promise<void> => {
  const body = await response.text();
  t.is(response.status, status, body);
  t.regex(body, text);
};

test('a request that cannot be done is refused before a stream begins, and its field is named', async (t) => {
  const threadId = crypto.randomUUID();
  const given = input(threadId, 'hello');
  const messages = (message: object): object => ({ ...given, messages: [{ id: 'm', ...message }] });
  await refused(t, await post('', { ...given, protocolVersion: '2.0' }), 422, /protocolVersion/);
  await refused(t, await post('', { ...given, state: 'text' }), 422, /state/);
  await refused(t, await post('', { ...given, state: { absent: 1 } }), 422, /absent/);
  await refused(t, await post('', messages({ role: 'user', content: 7 })), 422, /messages\.0\.content/);
  await refused(t, await post('', messages({ role: 'robot', content: 'x' })), 422, /messages\.0\.role/);
  await refused(t, await post('', messages({ role: 'tool', content: 'x' })), 422, /toolCallId/);
  const calls = (text: string): object =>
    messages({
      role: 'assistant',
      toolCalls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }],
    });
  await refused(t, await post('', calls('{')), 422, /arguments/);
  await refused(t, await post('', calls(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)), 400, /JSON in a text/);
  await refused(t, await post('', calls('{"__proto__":{"a":1}}')), 400, /__proto__/);
  for (const id of ['..', 'a/b', 'a\u0001b', 'x'.repeat(257)])
    await refused(t, await post('', { ...given, threadId: id }), 422, /threadId/);
  await refused(t, await post('', { ...given, threadId: undefined }), 422, /threadId/);
  await refused(t, await post('/connect', { threadId }), 404, /threadId|thread/);
  await refused(t, await post('/connect', { threadId }, { 'last-event-id': 'x' }), 422, /Last-Event-ID/);
});

test('all open questions are answered together, or none', async (t) => {
  const { agent, threadId } = openAgent();
  addUser(agent, 'are you sure');
  await agent.runAgent();
  const resume = [{ interruptId: 'another', status: 'resolved', payload: 1 }];
  await refused(
    t,
    await post('', { ...input(threadId, 'x'), messages: [], resume }),
    400,
    /must answer every open question/,
  );
});

test('the same request again is the run that it was, and another one a run of its own', async (t) => {
  const threadId = crypto.randomUUID();
  const body = (text: string): string =>
    JSON.stringify({
      ...{ threadId, runId: 'run-1', state: { turns: 1 } },
      messages: [{ id: 'm-1', role: 'user', content: text }],
    });
  const send = async (text: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(url(), { method: 'POST', headers, body: body(text) })).text();
  };
  const first = await send('hello');
  t.is(await send('hello'), first);
  const listed = async (): Promise<number> => {
    const { body: reply } = await service.send('GET', `/v1/threads/${threadId}/messages`);
    return (reply.data as { readonly messages: readonly unknown[] }).messages.length;
  };
  t.is(await listed(), 2);
  t.not(await send('hello again'), first);
});
