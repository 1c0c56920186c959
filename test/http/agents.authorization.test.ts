import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { byAgent } from '../backends/authorization.ts';
import { createClient, user, type Client } from '../servers/client.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { oneByOne, openShape } from './shape.ts';
import { twoAgents } from './two-agents.ts';

const declare = oneByOne(test);

const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../backends/authorization.ts', import.meta.url));

interface Opened {
  /** A caller that may use these agents. */
  readonly as: (userId: string, ...agents: readonly string[]) => Client;
}

async function open(t: ExecutionContext, service: Readonly<Record<string, unknown>> = twoAgents): Promise<Opened> {
  const { url, ...opened } = await openShape(
    null,
    { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
    { ...service, auth: 'jwt', authorization: `${module}:byAgent` },
  );
  t.teardown(() => opened[Symbol.asyncDispose]());
  return {
    as: (userId, ...agents) => {
      const token = makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: userId, agents } });
      return createClient(url, { authorization: `Bearer ${token}` });
    },
  };
}

/** What the backend was asked about a caller, in this process. */
const askedOf = (userId: string): typeof byAgent.asked =>
  byAgent.asked.filter(({ user }) => user['user_id'] === userId);

const hello = (config: object = {}): object => ({ messages: [user('hello')], config });
const statusOf = async (reply: ReturnType<Client['send']>): Promise<number> => (await reply).status;

declare(
  'a backend that decides by agent is asked with the agent that is named, that of the thread or run, or the default',
  async (t) => {
    const { as } = await open(t);
    const all = as('ada', 'support', 'office');
    const onlySupport = as('ada', 'support');
    const made = await all.send('POST', '/v1/runs', hello({ thread_id: 'of-office', agent: 'office' }));
    t.is(made.status, 202);
    const { run_id: runId } = made.body.data as { run_id: string };
    await all.send('GET', `/v1/runs/${runId}/wait`);
    t.is(await statusOf(onlySupport.send('POST', '/v1/graph/invoke', hello({ thread_id: 'of-support' }))), 200);

    for (const [method, path, body] of [
      ['POST', '/v1/graph/invoke', hello({ agent: 'office' })],
      ['POST', '/v1/runs', hello({ thread_id: 'of-office' })],
      ['POST', '/v1/graph/stream', hello({ thread_id: 'of-office' })],
      ['POST', '/v1/graph/stop', { thread_id: 'of-office' }],
      ['POST', '/v1/graph/setup', { tools: [], config: { agent: 'office' } }],
      ['GET', '/v1/agents/office'],
      ['GET', '/v1/graph?agent=office'],
      ['GET', '/v1/graph:StateSchema?agent=office'],
      ['GET', '/v1/threads/of-office'],
      ['GET', '/v1/threads/of-office/state'],
      ['GET', '/v1/threads/of-office/runs'],
      ['DELETE', '/v1/threads/of-office'],
      ['GET', `/v1/runs/${runId}`],
      ['GET', `/v1/runs/${runId}/stream`],
      ['POST', `/v1/runs/${runId}/ticket`, {}],
      ['POST', `/v1/runs/${runId}/cancel`, {}],
    ] as const)
      t.is(await statusOf(onlySupport.send(method, path, body)), 403, `${method} ${path}`);

    for (const [method, path, body] of [
      ['GET', '/v1/graph'],
      ['GET', '/v1/agents'],
      ['GET', '/v1/agents/support'],
      ['GET', '/v1/threads'],
      ['GET', '/v1/runs'],
      ['GET', '/v1/threads/of-support'],
      [
        'POST',
        '/v1/store/memories',
        { content: 'tea', memory_type: 'semantic', category: 'taste', config: { thread_id: 'nowhere' } },
      ],
      ['POST', '/v1/graph/setup', { tools: [] }],
    ] as const)
      t.true((await statusOf(onlySupport.send(method, path, body))) < 300, `${method} ${path}`);
  },
);

declare('a foreign thread stays absent, and an unread request is refused before the backend is asked', async (t) => {
  const { as } = await open(t);
  t.is(
    await statusOf(as('ada', 'office').send('POST', '/v1/graph/invoke', hello({ thread_id: 't1', agent: 'office' }))),
    200,
  );
  const mallory = as('mallory', 'office');
  for (const path of ['/v1/threads/t1', '/v1/threads/t1/state'])
    t.is(await statusOf(mallory.send('GET', path)), 404, path);
  t.is(await statusOf(mallory.send('POST', '/v1/graph/stop', { thread_id: 't1' })), 404);
  t.is(await statusOf(as('nobody').send('POST', '/v1/graph/invoke', { messages: 'none' })), 422);
  t.deepEqual(askedOf('nobody'), []);
});

declare('a request about memories is about their thread, whichever way it names it', async (t) => {
  const { as } = await open(t);
  const all = as('mona', 'support', 'office');
  for (const [thread_id, agent] of [
    ['closed', 'office'],
    ['open', 'support'],
  ])
    t.is(await statusOf(all.send('POST', '/v1/graph/invoke', hello({ thread_id, agent }))), 200);
  const config = { thread_id: 'closed' };
  const stored = await all.send('POST', '/v1/store/memories', {
    ...{ content: 'the safe is behind the clock', memory_type: 'semantic', category: 'secret', config },
  });
  const { memory_id } = stored.body.data as { memory_id: string };
  const path = `/v1/store/memories/${memory_id}`;
  const mona = as('mona', 'support');
  const filters = { thread_id: 'closed' };
  const elsewhere = { config: { thread_id: 'open' } };
  for (const [method, at, body] of [
    ['GET', path],
    ['GET', `${path}?config=${encodeURIComponent(JSON.stringify(elsewhere.config))}`],
    ['PUT', path, { content: 'overwritten', ...elsewhere }],
    ['DELETE', path, elsewhere],
    ['POST', '/v1/store/search', { query: 'safe', config }],
    ['POST', '/v1/store/search', { query: 'safe', filters }],
    ['GET', `/v1/store/memories?filters=${encodeURIComponent(JSON.stringify(filters))}`],
    ['POST', '/v1/store/memories/list', { filters }],
    ['POST', '/v1/store/memories/forget', { filters }],
    ['POST', '/v1/store/memories/forget', { config }],
  ] as const)
    t.is(await statusOf(mona.send(method, at, body)), 403, `${method} ${at}`);
  t.like((await all.send('GET', path)).body.data, { memory: { content: 'the safe is behind the clock' } });
  t.is(await statusOf(mona.send('POST', '/v1/store/search', { query: 'safe', ...elsewhere })), 200);
  const deletion = { 'idempotency-key': 'twice' };
  for (const attempt of [1, 2])
    t.is(await statusOf(all.send('DELETE', path, {}, deletion)), 200, `attempt ${String(attempt)}`);
});

declare('a list of runs of one agent is asked about that agent, and a list of tools about no thread', async (t) => {
  const { as } = await open(t);
  const all = as('rosa', 'support', 'office');
  t.is(await statusOf(all.send('POST', '/v1/graph/invoke', hello({ thread_id: 'mine', agent: 'office' }))), 200);
  const rosa = as('rosa', 'office');
  t.is(await statusOf(rosa.send('GET', '/v1/runs?agent=office')), 200);
  t.is(await statusOf(rosa.send('GET', '/v1/runs?agent=support')), 403);
  t.is(await statusOf(rosa.send('POST', '/v1/graph/setup', { tools: [], config: { thread_id: 'mine' } })), 403);
  t.is(await statusOf(all.send('POST', '/v1/graph/setup', { tools: [], config: { thread_id: 'nowhere' } })), 200);
});

declare('what is no name of an agent is refused before the backend is asked', async (t) => {
  const { as } = await open(t);
  const vera = as('vera', 'support');
  for (const agent of ['Support', '', 'support\u0000', 5, ['support'], { support: true }])
    t.is(await statusOf(vera.send('POST', '/v1/graph/invoke', hello({ agent }))), 422, JSON.stringify(agent));
  t.deepEqual(askedOf('vera'), []);
});

declare('a field that is not read does not say what a request is about', async (t) => {
  const { as } = await open(t);
  const all = as('eve', 'support', 'office');
  const made = await all.send('POST', '/v1/runs', hello({ thread_id: 'allowed' }));
  const { run_id } = made.body.data as { run_id: string };
  await all.send('GET', `/v1/runs/${run_id}/wait`);
  t.is(await statusOf(all.send('POST', '/v1/graph/invoke', hello({ thread_id: 'closed', agent: 'office' }))), 200);
  const eve = as('eve', 'support');
  const more = { run_id, thread_id: 'allowed', agent: 'support' };
  for (const [path, body] of [
    ['/v1/threads/closed/messages', { messages: [user('x')], ...more }],
    ['/v1/graph/invoke', { ...hello({ thread_id: 'closed' }), ...more }],
  ] as const)
    t.is(await statusOf(eve.send('POST', path, body)), 403, path);
});

declare('the run goes to the agent for which its caller was authorized', async (t) => {
  const { as } = await open(t);
  const caller = as('grace', 'support');
  t.is(await statusOf(caller.send('POST', '/v1/graph/invoke', hello({ thread_id: 'mine' }))), 200);
  const { body } = await caller.send('GET', '/v1/threads/mine');
  t.is((body.data as { agent: string }).agent, 'support');
  t.deepEqual(
    askedOf('grace').map(({ subject }) => subject),
    [
      { agent: 'support', thread_id: 'mine' },
      { agent: 'support', thread_id: 'mine' },
    ],
  );
});

declare('where the agent has no name, the name in a request is none of the backend’s business', async (t) => {
  const { as } = await open(t, { agent: twoAgents.agents.support });
  const caller = as('ada', 'default');
  t.is(await statusOf(caller.send('POST', '/v1/graph/invoke', hello({ agent: 'office' }))), 200);
});
