import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

interface Result {
  readonly meta: { readonly status: string; readonly interrupts?: readonly { readonly value: unknown }[] };
}
interface Steps {
  readonly steps: readonly { readonly nodes: readonly string[]; readonly changed: object }[];
}
interface Published {
  readonly messages: readonly { readonly role: string; readonly content: readonly { readonly text: string }[] }[];
}

test('a run of a LangGraph graph whose process was killed goes on with its next super-step', async (t) => {
  await using workspace = await makeWorkspace('lang-graph');
  await using gate = await openGate();
  const killed = await startStandalone(workspace.env);
  const config = { thread_id: 'held', gate: gate.url };
  const accepted = await createClient(killed.url).send('POST', '/v1/runs', { messages: [user('go')], config });
  const { run_id: runId } = accepted.body.data as { run_id: string };
  await gate.visited(1);
  await killed.stop('SIGKILL');

  await using again = await startStandalone(workspace.env);
  const { send } = createClient(again.url);
  await gate.visited(2);
  gate.open();
  const waited = (await send('GET', `/v1/runs/${runId}/wait`)).body.data as Result;
  t.deepEqual(
    [waited.meta.status, waited.meta.interrupts?.map(({ value }) => value)],
    ['interrupted', ['Is that all?']],
  );
  const resumed = await send('POST', '/v1/graph/invoke', { messages: [], resume: 'yes', config });
  t.is((resumed.body.data as Result).meta.status, 'completed');
  const { messages } = (await send('GET', '/v1/threads/held/messages')).body.data as Published;
  t.deepEqual(
    messages.map(({ role, content }) => [role, ...content.map(({ text }) => text)]),
    [
      ['user', 'go'],
      ['assistant', 'before the gate'],
      ['assistant', 'before, after: yes'],
    ],
  );
  const { steps } = (await send('GET', `/v1/runs/${runId}/steps`)).body.data as Steps;
  t.deepEqual(
    steps.map(({ nodes, changed }) => [...nodes, ...Object.keys(changed)]),
    [['before', 'ran'], ['after', 'ran'], ['ask']],
  );
  const { state } = (await send('GET', '/v1/threads/held/state')).body.data as { readonly state: object };
  t.deepEqual(Object.keys(state), ['ran', 'context', 'context_summary']);
  const written = await send('POST', '/v1/threads/held/state', { state: { __langgraph: {} } });
  t.is(written.status, 422);
});

test('text of a model of a LangGraph graph reaches a stream in chunks, and its whole message once', async (t) => {
  await using workspace = await makeWorkspace('lang-graph');
  await using gate = await openGate();
  gate.open();
  await using service = await startStandalone(workspace.env);
  const chunks: unknown[] = [];
  for await (const { data } of createClient(service.url).stream({
    messages: [user('go')],
    config: { gate: gate.url },
    response_granularity: 'low',
  }))
    chunks.push(data);
  t.deepEqual(
    chunks.filter((data) => typeof data === 'string'),
    ['before ', 'the ', 'gate', ''],
  );
  const { messages } = chunks.at(-1) as Published;
  t.deepEqual(
    messages.map(({ content }) => content.map(({ text }) => text)),
    [['before the gate']],
  );
});
