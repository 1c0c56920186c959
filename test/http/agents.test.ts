import test, { type ExecutionContext } from 'ava';
import { user, type Reply } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { agentAt } from '../servers/standalone.ts';
import { codeOf, replyText, serve } from './service.ts';
import { twoAgents } from './two-agents.ts';

const { send, stream, refused, data } = serve(test, null, {}, twoAgents);
const gated = serve(test, null, {}, { agents: { slow: agentAt('gated'), quick: agentAt('echo') } });

const ways = ['/v1/graph/invoke', '/v1/graph/stream', '/v1/runs'];
const named = (agent: unknown, id?: string): Readonly<Record<string, unknown>> => ({
  messages: [user('hello')],
  config: { agent, ...(id === undefined ? {} : { thread_id: id }) },
});
const key = (text: string): Readonly<Record<string, string>> => ({ 'idempotency-key': text });

interface Turn {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly meta: { readonly thread_id: string; readonly run_id: string; readonly status: string };
}

const turn = async (t: ExecutionContext, body: unknown, headers = {}): Promise<Turn & { readonly text: string }> => {
  const result: Turn = await data(t, 'invokeGraph', send('POST', '/v1/graph/invoke', body, headers));
  return { ...result, text: replyText(result.messages.at(-1)) };
};
const agentOf = async (t: ExecutionContext, id: string): Promise<string | null> =>
  ((await data(t, 'getThread', send('GET', `/v1/threads/${id}`))) as { agent: string | null }).agent;
const messageOf = ({ body }: Reply): string => (body.error as { readonly message: string }).message;

test('a request goes to the agent that it names, and without a name to the default', async (t) => {
  t.is((await turn(t, named('office'))).text, 'the clerk wrote hello');
  t.is((await turn(t, named('support'))).text, 'you said hello');
  t.is((await turn(t, { messages: [user('hello')] })).text, 'you said hello');
  t.is((await turn(t, { messages: [user('hello')], config: { thread_id: 'unnamed' } })).text, 'you said hello');
  t.is(await agentOf(t, 'unnamed'), 'support');
});

test('a stream and a run that nobody waits for name their agent, too', async (t) => {
  const events = await Array.fromAsync(stream(named('office', 'streamed')));
  t.true(JSON.stringify(events).includes('the clerk'));
  const { run_id: runId } = (await send('POST', '/v1/runs', named('office', 'accepted'))).body.data as {
    run_id: string;
  };
  await send('GET', `/v1/runs/${runId}/wait`);
  t.like(await data(t, 'getRun', send('GET', `/v1/runs/${runId}`)), { agent: 'office', status: 'completed' });
  t.deepEqual([await agentOf(t, 'streamed'), await agentOf(t, 'accepted')], ['office', 'office']);
});

for (const path of ways) {
  test(`a thread belongs to the agent of its first run: ${path}`, async (t) => {
    const id = `owned${path.replaceAll('/', '-')}`;
    await turn(t, named('office', id));
    const reply = await send('POST', path, named('support', id));
    t.deepEqual(await refused(t, Promise.resolve(reply), 409, codeOf(409)), []);
    t.is(messageOf(reply), `thread "${id}" belongs to the agent "office"`);
    t.is((await turn(t, { messages: [user('more')], config: { thread_id: id } })).text, 'the clerk wrote more');
    t.is((await turn(t, named('office', id))).text, 'the clerk wrote hello');
  });

  test(`an agent that there is not is 404, and makes no thread: ${path}`, async (t) => {
    const id = `lost${path.replaceAll('/', '-')}`;
    for (const name of ['sales', 'constructor', 'a'.repeat(63)]) {
      const reply = await send('POST', path, named(name, id));
      t.deepEqual(await refused(t, Promise.resolve(reply), 404, codeOf(404)), [['body', 'config', 'agent']]);
      t.is(messageOf(reply), `there is no agent named "${name}"`);
    }
    await refused(t, send('GET', `/v1/threads/${id}`), 404, codeOf(404));
  });

  test(`what is no name is 422 at config.agent: ${path}`, async (t) => {
    for (const bad of ['', 'Office', 'the office', '-a', '1a', '__proto__', 'a'.repeat(64), 5, true, {}, ['office']]) {
      const loc = await refused(t, send('POST', path, named(bad)), 422, codeOf(422));
      t.deepEqual(loc, [['body', 'config', 'agent']], JSON.stringify(bad));
    }
  });
}

test('null is no name: the request goes to the default', async (t) => {
  t.is((await turn(t, named(null))).text, 'you said hello');
});

test('the input is checked by the graph of the agent', async (t) => {
  const office = send('POST', '/v1/graph/invoke', { ...named('office'), initial_state: { rounds: 3 } });
  t.deepEqual(
    await refused(t, office, 422, codeOf(422)),
    [['body', 'initial_state', 'rounds']],
    'it has no such field',
  );
  t.is((await turn(t, { ...named('support'), initial_state: { rounds: 3 } })).text, 'you said hello');
  const tool = { name: 'stamp', parameters: { type: 'object' } };
  const ofOffice = send('POST', '/v1/graph/invoke', { ...named('office'), tools: [tool] });
  t.deepEqual(await refused(t, ofOffice, 422, codeOf(422)), [['body', 'tools', 0, 'name']]);
  t.is((await turn(t, { ...named('support'), tools: [tool] })).text, 'you said hello');
});

test('of two agents that begin a thread at once one gets it, and requests that name none follow it', async (t) => {
  for (let round = 0; round < 5; round++) {
    const id = `raced-${String(round)}`;
    const unnamed = { messages: [user('hello')], config: { thread_id: id } };
    const bodies = [named('office', id), named('support', id), unnamed, unnamed];
    const replies = await Promise.all(bodies.map((body) => send('POST', '/v1/graph/invoke', body)));
    const own = await agentOf(t, id);
    const statuses = replies.map(({ status }) => status);
    t.deepEqual(statuses, own === 'office' ? [200, 409, 200, 200] : [409, 200, 200, 200], `${id} is of ${own}`);
  }
});

test('a thread that was deleted belongs to the agent of the first run after that', async (t) => {
  await turn(t, named('office', 'again'));
  t.is((await send('DELETE', '/v1/threads/again')).status, 200);
  t.is((await turn(t, named('support', 'again'))).text, 'you said hello');
  t.is(await agentOf(t, 'again'), 'support');
});

test('a request that is sent again under its key runs once, whether or not it names the agent', async (t) => {
  await turn(t, named('office', 'kept'));
  const unnamed = { messages: [user('once')], config: { thread_id: 'kept' } };
  for (const [name, body] of [
    ['agents-named', named('office', 'kept')],
    ['agents-unnamed', unnamed],
    ['agents-new', named('office')],
  ] as const) {
    const [first, ...more] = await Promise.all([1, 2, 3].map(() => turn(t, body, key(name))));
    for (const next of [...more, await turn(t, body, key(name))]) t.deepEqual(next, first, name);
    t.true(first?.text.startsWith('the clerk wrote'));
  }
  const other = send('POST', '/v1/graph/invoke', named('support', 'kept'), key('agents-named'));
  t.deepEqual(await refused(t, other, 422, codeOf(422)), [['header', 'Idempotency-Key']]);
});

test('a request that was refused for its agent is refused again under its key', async (t) => {
  await turn(t, named('office', 'refused'));
  for (let time = 0; time < 2; time++) {
    const reply = send('POST', '/v1/graph/invoke', named('support', 'refused'), key('agents-refused'));
    await refused(t, reply, 409, codeOf(409));
  }
});

test('a request for another agent stops no run, whatever its strategy', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'held', agent: 'slow', gate: gate.url };
  const accepted = await gated.send('POST', '/v1/runs', { messages: [user('go')], config });
  const { run_id: runId } = accepted.body.data as { run_id: string };
  for (const strategy of ['enqueue', 'reject', 'interrupt', 'rollback']) {
    const body = { messages: [user('x')], config: { thread_id: 'held', agent: 'quick', multitask_strategy: strategy } };
    await gated.refused(t, gated.send('POST', '/v1/runs', body), 409, codeOf(409));
  }
  gate.open();
  const ended = (await gated.send('GET', `/v1/runs/${runId}/wait`)).body.data as Turn;
  t.is(ended.meta.status, 'completed');
});
