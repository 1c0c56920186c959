import test from 'ava';
import { loadAgents } from '@agent-workflow/execution/agents/load';
import { registerAgents } from '@agent-workflow/execution/api/registration';
import { agentsElsewhere, atRevision } from '@agent-workflow/execution/record/agents';
import { createApp } from '@agent-workflow/gateway/app';
import { gatewaySettings } from '@agent-workflow/gateway/config';
import { openFileStore, openOwnFiles } from '@agent-workflow/gateway/files';
import { openServer } from '@agent-workflow/gateway/server';
import { openInProcessStores } from '@agent-workflow/gateway/stores';
import { readEnv } from '@agent-workflow/kit/env';
import { createLog, type Log } from '@agent-workflow/kit/log';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Threads } from '@agent-workflow/protos/threads';
import { openReplicas } from '../contract/replicas.ts';
import { createClient, user, type Client } from '../servers/client.ts';
import { agentAt } from '../servers/standalone.ts';

const silent = createLog('test', 'silent');
const config = readEnv(gatewaySettings, { PORT: '0', HOST: '127.0.0.1' });

interface Changed {
  readonly threads: Threads;
  readonly execution: Execution;
}

interface Given {
  /** Changes what the gateway is given. */
  readonly change?: (services: Changed) => Changed;
  readonly log?: Log;
}

/** A gateway before an execution process without code of agents; the agents are registered, and a worker holds them. */
async function openRegistered({ change = (services) => services, log = silent }: Given = {}): Promise<
  Client & AsyncDisposable
> {
  await using opened = new AsyncDisposableStack();
  const replicas = opened.use(await openReplicas());
  const locations = { support: agentAt('obedient'), office: agentAt('clerk') };
  const loaded = await loadAgents({
    ...{ agent: undefined, defaultAgent: undefined, folder: '/' },
    agents: Object.entries(locations).map(([name, location]) => ({ name, location })),
  });
  await registerAgents({ ...loaded, revision: 'v1' }, replicas.threads, 'auto');
  await replicas.open({ graph: atRevision(loaded, 'v1') });
  const { execution } = await replicas.open({ graph: agentsElsewhere('support') });
  const own = opened.use(await openOwnFiles(() => ':memory:'));
  const files = opened.use(await openFileStore({ config, log, own }));
  const app = createApp({
    ...change({ threads: replicas.threads, execution }),
    ...{ memory: replicas.memory, files, config, log },
    readiness: {} as never,
    ...opened.use(openInProcessStores()),
  });
  const { url } = opened.use(await openServer({ app, host: '127.0.0.1', config, log }));
  const everything = opened.move();
  return { ...createClient(url), [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

test('agents whose code is elsewhere are listed and described, the default first, with their revisions', async (t) => {
  await using client = await openRegistered();
  const { agents } = (await client.send('GET', '/v1/agents')).body.data as { agents: Record<string, unknown>[] };
  t.deepEqual(
    agents.map(({ name, is_default, tools }) => [name, is_default, tools]),
    [
      ['support', true, []],
      ['office', false, ['stamp']],
    ],
  );
  t.like(agents[0], { routing: { version: 1, current: 'v1' }, revisions: [{ revision: 'v1', state: 'current' }] });
  for (const name of ['support', 'office']) {
    const agent = (await client.send('GET', `/v1/agents/${name}`)).body.data as Record<string, unknown>;
    t.is(agent['is_default'], name === 'support');
    const { graph } = (await client.send('GET', `/v1/graph?agent=${name}`)).body.data as { graph: unknown };
    t.deepEqual(graph, agent['graph']);
    const schema = (await client.send('GET', `/v1/graph:StateSchema?agent=${name}`)).body.data;
    t.deepEqual(schema, agent['state_schema']);
  }
  t.is((await client.send('GET', '/v1/agents/nobody')).status, 404);
});

test('an agent whose definition cannot be read is left out of the list, and logged once for many requests', async (t) => {
  const logged: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), { error: (fields: unknown) => void logged.push(fields) });
  const toolsJson = Buffer.from('no JSON');
  const change = ({ threads, execution }: Changed): Changed => ({
    execution: {
      ...execution,
      listAgents: async (request, call) => {
        const { agents } = await execution.listAgents(request, call);
        return { agents: agents.filter(({ name }) => name !== 'office') };
      },
    },
    threads: {
      ...threads,
      getRevision: async (request, call) => {
        const revision = await threads.getRevision(request, call);
        return request.agent === 'office' ? { ...revision, toolsJson } : revision;
      },
    },
  });
  await using client = await openRegistered({ change, log });
  for (let asked = 0; asked < 3; asked++) {
    const { agents } = (await client.send('GET', '/v1/agents')).body.data as { agents: Record<string, unknown>[] };
    t.deepEqual(
      agents.map(({ name }) => name),
      ['support'],
    );
  }
  t.is(logged.length, 1);
  t.like(logged[0], { agent: 'office' });
});

test('requests for them are answered as where the code is; what only the code can say ends the run', async (t) => {
  await using client = await openRegistered();
  const invoke = async (config: object, initial_state: object = {}) =>
    client.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config, initial_state });
  t.is((await invoke({ thread_id: 't1', agent: 'office' }, { notes: ['a'] })).status, 200);
  t.is((await invoke({ thread_id: 't1' })).status, 200);
  t.is((await invoke({ thread_id: 't1', agent: 'support' })).status, 409);
  t.is((await invoke({ agent: 'nobody' })).status, 404);
  const misfit = await invoke({ agent: 'support' }, { rounds: 'many' });
  t.is(misfit.status, 422);
  t.deepEqual((misfit.body as { error: { details: { loc: unknown }[] } }).error.details[0]?.loc, [
    ...['body', 'initial_state', 'rounds'],
  ]);
  const unreduced = await invoke({ thread_id: 't2', agent: 'support' }, { notes: 7 });
  t.is(unreduced.status, 400);
  t.regex(JSON.stringify(unreduced.body), /"BAD_REQUEST".*initial_state: .*notes/);
  const state = (await client.send('GET', '/v1/threads/t2/state')).body.data as { state: Record<string, unknown> };
  t.like(state.state, { rounds: 0, notes: [] });
  const tools = [{ name: 'stamp', description: 'Mine.', parameters: { type: 'object' } }];
  t.is((await client.send('POST', '/v1/graph/setup', { tools, config: { agent: 'office' } })).status, 422);
  t.is((await client.send('POST', '/v1/graph/setup', { tools })).status, 200);
});

test('state is written without the code, a field with a reducer by the help of a worker', async (t) => {
  await using client = await openRegistered();
  await client.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id: 't1' } });
  const write = async (state: object) => client.send('POST', '/v1/threads/t1/state', { config: {}, state });
  t.is((await write({ rounds: 3 })).status, 200);
  t.is((await write({ rounds: 'x' })).status, 422);
  for (const note of ['some', 'more']) t.is((await write({ rounds: 4, notes: [note] })).status, 200);
  const refused = await write({ rounds: 5, notes: 7 });
  t.is(refused.status, 422);
  t.deepEqual((refused.body as { error: { details: { loc: unknown }[] } }).error.details[0]?.loc, [
    ...['body', 'state', 'notes'],
  ]);
  const read = (await client.send('GET', '/v1/threads/t1/state')).body.data as { state: Record<string, unknown> };
  t.like(read.state, { rounds: 4, notes: ['some', 'more'] });
});
