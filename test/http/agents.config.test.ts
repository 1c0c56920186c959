import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { openGate } from '../servers/gate.ts';
import { agentAt } from '../servers/standalone.ts';
import { codeOf, replyText, serve } from './service.ts';
import { embeddedOnly, namelessOnly, openShape } from './shape.ts';

const both = { support: agentAt('obedient'), office: agentAt('clerk') };
const strict = serve(test, null, {}, { agents: both });
const one = serve(test, null, {}, { agents: { office: both.office } });
const unnamed = serve(test, 'who', {}, { agent: agentAt('who') });
const none = serve(test, null);

interface Turn {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly meta: { readonly thread_id: string; readonly run_id: string };
}

const hello = (config: object = {}): object => ({ messages: [user('hello')], config });
const textOf = async ({ send }: Pick<Client, 'send'>, body: object): Promise<string> => {
  const reply = await send('POST', '/v1/graph/invoke', body);
  return reply.status === 200 ? replyText((reply.body.data as Turn).messages.at(-1)) : String(reply.status);
};
const messageOf = async (client: Pick<Client, 'send'>, method: string, path: string, body?: object): Promise<string> =>
  ((await client.send(method, path, body)).body.error as { message: string }).message;

test('without a default a new thread has to name its agent, and an old one need not', async (t) => {
  for (const path of ['/v1/graph/invoke', '/v1/graph/stream', '/v1/runs'])
    await strict.refused(t, strict.send('POST', path, hello({ thread_id: 'unled' })), 404, codeOf(404));
  t.regex(await messageOf(strict, 'POST', '/v1/graph/invoke', hello()), /no agent is the default/);
  await strict.refused(t, strict.send('GET', '/v1/threads/unled'), 404, codeOf(404));
  t.is(await textOf(strict, hello({ thread_id: 'led', agent: 'office' })), 'the clerk wrote hello');
  t.is(await textOf(strict, hello({ thread_id: 'led' })), 'the clerk wrote hello');
  const path = '/v1/threads/led/state';
  t.is((await strict.send('POST', path, { config: {}, state: { notes: ['a'] } })).status, 200);
  t.like((await strict.send('GET', path)).body.data, { agent: 'office', state: { notes: ['a'] } });
});

test('without a default the paths that describe it are 404, and none is listed as it', async (t) => {
  for (const path of ['/v1/graph', '/v1/graph:StateSchema'])
    await strict.refused(t, strict.send('GET', path), 404, codeOf(404));
  await strict.refused(t, strict.send('POST', '/v1/graph/setup', { tools: [] }), 404, codeOf(404));
  const listed: { agents: { name: string; is_default: boolean }[] } = await strict.data(
    t,
    'listAgents',
    strict.send('GET', '/v1/agents'),
  );
  t.like(listed.agents, [
    { name: 'office', is_default: false },
    { name: 'support', is_default: false },
  ]);
});

test('the only agent is the default, also where it has a name', async (t) => {
  t.is(await textOf(one, hello({ thread_id: 'only' })), 'the clerk wrote hello');
  t.like((await one.send('GET', '/v1/threads/only')).body.data, { agent: 'office' });
  t.like((await one.send('GET', '/v1/agents')).body.data, { agents: [{ name: 'office', is_default: true }] });
  t.is(await textOf(one, hello({ agent: 'support' })), '404');
});

namelessOnly(test, 'one agent without a name leaves config.agent to its nodes, whatever it is', async (t) => {
  for (const agent of ['sales', 'No name at all', '', 7, true, null, { deep: [1] }, ['a']]) {
    const text = await textOf(unnamed, hello({ thread_id: 'whose', agent }));
    t.deepEqual((JSON.parse(text) as { config: { agent: unknown } }).config.agent, agent);
  }
  t.false('agent' in (JSON.parse(await textOf(unnamed, hello())) as { config: object }).config);
  const tools = [{ name: 'look', parameters: { type: 'object' } }];
  const setUp = { tools, config: { agent: 'No name at all' } };
  t.is((await unnamed.send('POST', '/v1/graph/setup', setUp)).status, 200);
});

test('a named agent sees config.agent, too', async (t) => {
  await using service = await openShape(null, {}, { agents: { who: agentAt('who'), other: both.office } });
  const text = await textOf(createClient(service.url), hello({ agent: 'who' }));
  t.is((JSON.parse(text) as { config: { agent: string } }).config.agent, 'who');
});

test('one agent without a name is shown as default', async (t) => {
  await unnamed.send('POST', '/v1/graph/invoke', hello({ thread_id: 'shown' }));
  t.like((await unnamed.send('GET', '/v1/threads/shown')).body.data, { agent: 'default' });
  t.like((await unnamed.send('GET', '/v1/threads/shown/state')).body.data, { agent: 'default' });
  const page = await unnamed.send('GET', '/v1/runs?agent=default&limit=1');
  t.like(page.body.data, { runs: [{ agent: 'default' }] });
  t.deepEqual((await unnamed.send('GET', '/v1/runs?agent=sales')).body.data, { runs: [], has_more: false });
  t.like((await unnamed.send('GET', '/v1/agents')).body.data, {
    agents: [{ name: 'default', description: null, is_default: true, tools: [] }],
  });
  for (const path of ['/v1/agents/default', '/v1/graph?agent=default'])
    t.is((await unnamed.send('GET', path)).status, 200, path);
  for (const path of ['/v1/agents/who', '/v1/graph?agent=who'])
    await unnamed.refused(t, unnamed.send('GET', path), 404, codeOf(404));
});

test('a service without an agent lists none, and each is 404', async (t) => {
  t.deepEqual((await none.send('GET', '/v1/agents')).body.data, { agents: [] });
  for (const path of ['/v1/agents/default', '/v1/graph', '/v1/graph?agent=default'])
    await none.refused(t, none.send('GET', path), 404, codeOf(404));
  await none.refused(t, none.send('POST', '/v1/graph/invoke', hello({ agent: 'x' })), 404, codeOf(404));
});

/** Serves the same data with one `service.json` after another. */
async function overTime(
  t: ExecutionContext,
  times: readonly (readonly [service: object, work: (client: Client) => Promise<void>])[],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-agents-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const [service, work] of times) {
    await using opened = await openEmbedded(null, { DATA_DIR: folder, DRAIN_SECONDS: '1' }, { ...service });
    await work(createClient(opened.url));
  }
}

embeddedOnly(test, 'threads of one agent without a name belong to the agent that is named default later', async (t) => {
  const seen = async (client: Client): Promise<unknown> => (await client.send('GET', '/v1/threads/old')).body.data;
  await overTime(t, [
    [
      { agent: both.support },
      async (client) => void t.is(await textOf(client, hello({ thread_id: 'old' })), 'you said hello'),
    ],
    [
      { agents: { ...both, default: both.support }, default_agent: 'office' },
      async (client) => {
        t.like(await seen(client), { agent: 'default' });
        t.is(await textOf(client, hello({ thread_id: 'old' })), 'you said hello');
        t.is(await textOf(client, hello({ thread_id: 'old', agent: 'support' })), '409');
        t.is(await textOf(client, hello({ thread_id: 'new' })), 'the clerk wrote hello');
      },
    ],
    [
      { agent: both.support },
      async (client) => {
        t.is(await textOf(client, hello({ thread_id: 'old' })), 'you said hello');
        t.is(await textOf(client, hello({ thread_id: 'new' })), '404', 'its agent is not there');
        t.is(await textOf(client, hello({ thread_id: 'new', agent: 'office' })), '404', 'nor by its name');
      },
    ],
  ]);
});

embeddedOnly(test, 'a request that came before its agent is done when it is sent again after the agent', async (t) => {
  const send = async (client: Client): Promise<number> =>
    (await client.send('POST', '/v1/graph/invoke', hello({ agent: 'office' }), { 'idempotency-key': 'early' })).status;
  await overTime(t, [
    [{ agents: { support: both.support } }, async (client) => void t.is(await send(client), 404)],
    [{ agents: both }, async (client) => void t.is(await send(client), 200)],
  ]);
});

embeddedOnly(
  test,
  'the threads of an agent that was removed can be read, and are served when it is back',
  async (t) => {
    const path = '/v1/threads/kept';
    await overTime(t, [
      [
        { agents: both, default_agent: 'support' },
        async (client) => {
          t.is(await textOf(client, hello({ thread_id: 'kept', agent: 'office' })), 'the clerk wrote hello');
          await client.send('POST', `${path}/state`, { config: {}, state: { notes: ['a'] } });
        },
      ],
      [
        { agents: { support: both.support } },
        async (client) => {
          t.is(await textOf(client, hello({ thread_id: 'kept' })), '404');
          t.is(await textOf(client, hello({ thread_id: 'kept', agent: 'office' })), '404');
          t.is(await textOf(client, hello({ thread_id: 'kept', agent: 'support' })), '409');
          t.like((await client.send('GET', path)).body.data, { agent: 'office' });
          t.like((await client.send('GET', `${path}/state`)).body.data, { agent: 'office', state: { notes: ['a'] } });
          t.is((await client.send('POST', `${path}/state`, { config: {}, state: { notes: ['b'] } })).status, 404);
          t.like((await client.send('GET', '/v1/runs?agent=office')).body.data, { runs: [{ thread_id: 'kept' }] });
        },
      ],
      [
        { agents: both, default_agent: 'support' },
        async (client) => void t.is(await textOf(client, hello({ thread_id: 'kept' })), 'the clerk wrote hello'),
      ],
    ]);
  },
);

embeddedOnly(test, 'runs of an agent that was removed wait, and go on when it is back', async (t) => {
  await using gate = await openGate();
  const agents = { slow: agentAt('gated'), quick: agentAt('echo') };
  const body = hello({ thread_id: 'waits', agent: 'slow', gate: gate.url });
  const runs: string[] = [];
  const statusOf = async (client: Client, id = ''): Promise<string> =>
    ((await client.send('GET', `/v1/runs/${id}`)).body.data as { status: string }).status;
  await overTime(t, [
    [
      { agents },
      async (client) => {
        for (let count = 0; count < 2; count++)
          runs.push(((await client.send('POST', '/v1/runs', body)).body.data as { run_id: string }).run_id);
        await gate.visited(1);
      },
    ],
    [
      { agents: { quick: agents.quick } },
      async (client) => {
        t.is(await textOf(client, hello({ thread_id: 'other' })), 'you said hello');
        t.deepEqual(await Promise.all(runs.map((id) => statusOf(client, id))), ['queued', 'queued']);
      },
    ],
    [
      { agents },
      async (client) => {
        gate.open();
        for (const id of runs) await client.send('GET', `/v1/runs/${id}/wait`);
        t.deepEqual(await Promise.all(runs.map((id) => statusOf(client, id))), ['completed', 'completed']);
      },
    ],
  ]);
});
