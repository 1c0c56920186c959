import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { byUser } from '../backends/authorization.ts';
import { createClient, user } from '../servers/client.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { codeOf, serve } from './service.ts';
import { openShape } from './shape.ts';
import { twoAgents } from './two-agents.ts';

const { send, refused, data } = serve(test, null, {}, twoAgents);
const own = serve(test, null, {}, twoAgents);

interface Listed {
  readonly name: string;
  readonly tools: readonly unknown[];
  readonly routing?: object;
  readonly revisions?: readonly object[];
}

test('the agents are listed with the names of their tools, the default first', async (t) => {
  const { agents }: { agents: Listed[] } = await data(t, 'listAgents', send('GET', '/v1/agents'));
  // What is registered has its revisions beside.
  const listed = agents.map(({ routing: _, revisions: _revisions, ...agent }) => agent);
  t.deepEqual(listed as unknown, [
    { name: 'support', description: null, is_default: true, tools: [] },
    { name: 'office', description: 'Writes things down.', is_default: false, tools: ['stamp'] },
  ]);
});

test('an agent is described with its tools, its graph and its state, as the paths of these describe them', async (t) => {
  for (const name of ['support', 'office']) {
    const agent: Record<string, unknown> = await data(t, 'getAgent', send('GET', `/v1/agents/${name}`));
    t.is(agent['name'], name);
    const { graph }: { graph: unknown } = await data(t, 'getGraph', send('GET', `/v1/graph?agent=${name}`));
    t.deepEqual(agent['graph'], graph);
    const schema: unknown = await data(t, 'getStateSchema', send('GET', `/v1/graph:StateSchema?agent=${name}`));
    t.deepEqual(agent['state_schema'], schema);
  }
  const { tools }: Listed = await data(t, 'getAgent', send('GET', '/v1/agents/office'));
  t.like(tools, [{ name: 'stamp', description: 'Stamps a paper.', remote: false }]);
});

test('graph and fields are those of the agent that is named, and of the default without a name', async (t) => {
  const nodesOf = async (query: string): Promise<readonly string[]> => {
    const { graph }: { graph: { nodes: { id: string }[] } } = await data(
      t,
      'getGraph',
      send('GET', `/v1/graph${query}`),
    );
    return graph.nodes.map(({ id }) => id).filter((id) => !id.startsWith('__'));
  };
  t.deepEqual(await nodesOf(''), ['obey', 'tools']);
  t.deepEqual(await nodesOf('?agent=support'), ['obey', 'tools']);
  t.deepEqual(await nodesOf('?agent=office'), ['write', 'tools']);
  const fieldsOf = async (query: string): Promise<object> => {
    const path = `/v1/graph:StateSchema${query}`;
    return ((await data(t, 'getStateSchema', send('GET', path))) as { fields: object }).fields;
  };
  t.true('rounds' in (await fieldsOf('')));
  t.false('rounds' in (await fieldsOf('?agent=office')));
});

test('an agent that there is not is 404', async (t) => {
  for (const name of ['sales', 'Office', '__proto__', 'a%20b']) {
    for (const path of [`/v1/agents/${name}`, `/v1/graph?agent=${name}`, `/v1/graph:StateSchema?agent=${name}`])
      t.deepEqual(await refused(t, send('GET', path), 404, codeOf(404)), [], path);
  }
});

test('tools that are set up are checked against the agent that is named, else against the default', async (t) => {
  const setUp = (tool: object, more: object = {}) =>
    own.send('POST', '/v1/graph/setup', { tools: [{ parameters: { type: 'object' }, ...tool }], ...more });
  const office = { config: { agent: 'office' } };
  const refusedAt = (reply: ReturnType<typeof setUp>): Promise<unknown[]> => own.refused(t, reply, 422, codeOf(422));
  t.deepEqual(await refusedAt(setUp({ name: 'stamp' }, office)), [['body', 'tools', 0, 'name']]);
  t.deepEqual(await refusedAt(setUp({ name: 'look', node_name: 'obey' }, office)), [['body', 'tools', 0, 'node_name']]);
  t.deepEqual(await refusedAt(setUp({ name: 'look', node_name: 'write' })), [['body', 'tools', 0, 'node_name']]);
  t.deepEqual(await refusedAt(setUp({ name: 'look' }, { config: { agent: 'The office' } })), [
    ['body', 'config', 'agent'],
  ]);
  const absent = setUp({ name: 'look' }, { config: { agent: 'sales' } });
  t.deepEqual(await own.refused(t, absent, 404, codeOf(404)), [['body', 'config', 'agent']]);
  const statusOf = async (agent: string): Promise<string> => {
    const body = { messages: [user('call look')], config: { agent } };
    const { meta }: { meta: { status: string } } = await own.data(
      t,
      'invokeGraph',
      own.send('POST', '/v1/graph/invoke', body),
    );
    return meta.status;
  };
  for (const body of [office, { config: { agent: 'support', more: 1 } }, { config: {} }, {}]) {
    t.is((await setUp({ name: 'look' }, body)).status, 200);
    t.deepEqual([await statusOf('office'), await statusOf('support')], ['interrupted', 'interrupted']);
  }
  t.is((await setUp({ name: 'stamp' })).status, 200, 'the default has no such tool');
  t.is(
    await statusOf('office'),
    'completed',
    'an agent with a tool of the same name runs without the one that was set up',
  );
});

test('who may not read the graph may not read the agents', async (t) => {
  const secret = 's'.repeat(32);
  const module = fileURLToPath(new URL('../backends/authorization.ts', import.meta.url));
  const service = await open(t, { ...twoAgents, auth: 'jwt', authorization: `${module}:byUser` }, secret);
  const as = (claims: Readonly<Record<string, unknown>>) => {
    const token = makeToken('HS256', secret, { claims: { exp: inSeconds(300), ...claims } });
    return createClient(service, { authorization: `Bearer ${token}` });
  };
  for (const path of ['/v1/agents', '/v1/agents/office', '/v1/graph?agent=office']) {
    t.is((await as({ sub: 'reader', may: 'all' }).send('GET', path)).status, 200, path);
    const { status, body } = await as({ sub: 'nobody' }).send('GET', path);
    t.is(status, 403, path);
    t.like(body.error, { code: 'PERMISSION_DENIED', message: 'read on graph is not allowed' });
    t.is((await createClient(service).send('GET', path)).status, 401, path);
  }
  t.deepEqual(new Set(byUser.asked.map(({ resource, action }) => `${resource}:${action}`)), new Set(['graph:read']));
});

async function open(t: ExecutionContext, service: Readonly<Record<string, unknown>>, secret: string): Promise<string> {
  const opened = await openShape(null, { HOST: '127.0.0.1', JWT_SECRET_KEY: secret }, service);
  t.teardown(() => opened[Symbol.asyncDispose]());
  return opened.url;
}
