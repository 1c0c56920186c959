import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { createClient, user, type Client, type Reply } from '../servers/client.ts';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';
import { agentAt } from '../servers/standalone.ts';
import { audience, goodClaims, issuer, makeToken } from '../servers/tokens.ts';

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = {
  JWT_ALGORITHM: 'HS256',
  JWT_SECRET_KEY: secret,
  JWT_ISSUER: issuer,
  JWT_AUDIENCE: audience,
  RATE_LIMIT_REQUESTS: '0',
};

type Action = 'read' | 'write';

/** `access.knowledge`, by scope, and what of it no rule names. */
const rules: Readonly<Record<string, Readonly<Record<Action, readonly string[]>>>> = {
  'shared:handbook': { read: ['*'], write: ['staff'] },
  'shared:prices': { read: ['sales'], write: ['agent:loader'] },
  'shared:drafts': { read: ['agent:refunds'], write: ['operator', 'staff'] },
  'shared:closed': { read: [], write: [] },
  'agent:refunds': { read: ['sales'], write: ['staff'] },
  'agent:loader': { read: [], write: [] },
};
const scopes = ['own', ...Object.keys(rules), 'agent:other', 'shared:none'];

const access = {
  roles: { staff: { is: 'user' }, sales: { is: 'user' }, ops: { is: 'operator' }, root: { is: 'admin' } },
  knowledge: Object.fromEntries(
    Object.entries(rules)
      .filter(([scope]) => scope !== 'agent:loader')
      .map(([scope, rule]) => [scope.replace(/^shared:/, ''), rule]),
  ),
};

/** Callers by the roles that their tokens name. */
const callers: Readonly<Record<string, readonly string[]>> = {
  bob: [],
  sue: ['staff'],
  sam: ['sales'],
  omar: ['ops'],
  both: ['sales', 'staff', 'unknown'],
  zoe: ['root'],
};

/** What a caller may, said once more in a few lines. */
function may(roles: readonly string[], scope: string, action: Action): boolean {
  if (scope === 'own' || roles.includes('root')) return true;
  const names = [...roles.filter((role) => role in access.roles), '*', ...(roles.includes('ops') ? ['operator'] : [])];
  const { read = [], write = [] } = rules[scope] ?? {};
  return [...write, ...(action === 'read' ? read : [])].some((listed) => names.includes(listed));
}

/** What a run may: what its owner may in the scopes that are declared, and what its agent is given. */
function runMay(agent: string, roles: readonly string[], scope: string, action: Action): boolean {
  if (scope === 'own' || scope === `agent:${agent}`) return true;
  if (!(scope in rules) || scope === 'agent:loader') return false;
  const { read = [], write = [] } = rules[scope] ?? {};
  const listed = [...write, ...(action === 'read' ? read : [])];
  return may(roles, scope, action) || listed.includes(`agent:${agent}`);
}

const note = { content: 'the tea is green', memory_type: 'semantic', category: 'tea' };
const memories = '/v1/store/memories';

interface Route {
  readonly action: Action;
  readonly send: (client: Client, scope: string, id: string) => Promise<Reply>;
}

/** Every way over HTTP to memories of a scope. `id` is that of one that is there. */
const routes: Readonly<Record<string, Route>> = {
  store: { action: 'write', send: (client, scope) => client.send('POST', memories, { ...note, scope }) },
  search: {
    action: 'read',
    send: (client, scope) => client.send('POST', '/v1/store/search', { query: 'tea', scopes: ['own', scope] }),
  },
  list: { action: 'read', send: (client, scope) => client.send('GET', `${memories}?scope=${scope}`) },
  'list by POST': { action: 'read', send: (client, scope) => client.send('POST', `${memories}/list`, { scope }) },
  get: { action: 'read', send: (client, scope, id) => client.send('GET', `${memories}/${id}?scope=${scope}`) },
  'get by POST': { action: 'read', send: (client, scope, id) => client.send('POST', `${memories}/${id}`, { scope }) },
  update: {
    action: 'write',
    send: (client, scope, id) => client.send('PUT', `${memories}/${id}`, { content: 'the tea is black', scope }),
  },
  'delete by the query': {
    action: 'write',
    send: (client, scope, id) => client.send('DELETE', `${memories}/${id}?scope=${scope}`),
  },
  'delete by the body': {
    action: 'write',
    send: (client, scope, id) => client.send('DELETE', `${memories}/${id}`, { scope }),
  },
  forget: {
    action: 'write',
    send: (client, scope) => client.send('POST', `${memories}/forget`, { scope, category: 'tea' }),
  },
};

let service: Promise<Embedded> | undefined;
test.after.always(async () => (await service)?.[Symbol.asyncDispose]());
const open = (): Promise<Embedded> => {
  const agents = { refunds: agentAt('knowing'), loader: agentAt('knowing') };
  service ??= openEmbedded(null, env, { auth: 'jwt', agents, default_agent: 'refunds', access });
  return service;
};

const as = async (sub: string, roles: readonly string[]): Promise<Client> => {
  const claims = { ...goodClaims({ user_id: sub }), roles };
  return createClient((await open()).url, { authorization: `Bearer ${makeToken('HS256', secret, { claims })}` });
};

interface Data {
  readonly memory_id: string;
  readonly total: number;
  readonly memories: readonly { readonly content: string }[];
}
const dataOf = (reply: Reply): Data => reply.body.data;

/** What a scope holds, as the administrator sees it. */
async function holds(scope: string, owner: Client): Promise<readonly string[]> {
  const client = scope === 'own' ? owner : await as('zoe', ['root']);
  return dataOf(await client.send('POST', `${memories}/list`, { scope })).memories.map(({ content }) => content);
}

/** Makes a memory in a scope, as its owner or the administrator. */
async function seed(scope: string, owner: Client): Promise<string> {
  const client = scope === 'own' ? owner : await as('zoe', ['root']);
  return dataOf(await client.send('POST', memories, { ...note, content: 'the tea is white', scope })).memory_id;
}

for (const [name, roles] of Object.entries(callers))
  test.serial(
    `${name}, with the roles [${roles.join(', ')}], reads and writes the scopes that these allow, by every route`,
    async (t) => {
      t.timeout(byLoad(120_000));
      const client = await as(name, roles);
      for (const scope of scopes)
        for (const [route, { action, send }] of Object.entries(routes)) {
          const where = `${route} ${scope}`;
          const id = await seed(scope, client);
          const before = await holds(scope, client);
          const { status } = await send(client, scope, id);
          if (may(roles, scope, action)) t.is(status, 200, where);
          else {
            t.is(status, may(roles, scope, 'read') ? 403 : 404, where);
            t.deepEqual(await holds(scope, client), before, where);
          }
        }
    },
  );

test.serial(
  'a search that names its scope as other requests do is refused, and is not one of own memories',
  async (t) => {
    const sue = await as('sue', callers['sue'] ?? []);
    const reply = await sue.send('POST', '/v1/store/search', { query: 'tea', scope: 'shared:handbook' });
    t.is(reply.status, 422);
    t.regex(JSON.stringify(reply.body), /"loc":\["body","scope"\]/);
  },
);

test.serial('a batch stores what its caller may, and says of each other one why not', async (t) => {
  const sue = await as('sue', callers['sue'] ?? []);
  const reply = await sue.send('POST', `${memories}/batch`, {
    memories: scopes.map((scope) => ({ ...note, scope, key: 'k' })),
  });
  t.is(reply.status, 200);
  const outcomes = dataOf(reply).memories as unknown as readonly { readonly error?: { readonly code: string } }[];
  for (const [at, scope] of scopes.entries()) {
    const code = may(callers['sue'] ?? [], scope, 'read') ? 'PERMISSION_DENIED' : 'RESOURCE_NOT_FOUND';
    t.is(outcomes[at]?.error?.code, may(callers['sue'] ?? [], scope, 'write') ? undefined : code, scope);
  }
});

test.serial('the scope of a batch is that of its memories that name none', async (t) => {
  const [sue, zoe] = [await as('sue', callers['sue'] ?? []), await as('zoe', ['root'])];
  const batch = { scope: 'shared:handbook', memories: [{ ...note, content: 'of the batch' }] };
  const all = { ...batch, memories: [...batch.memories, { ...note, content: 'of zoe', scope: 'own' }] };
  t.is((await zoe.send('POST', `${memories}/batch`, all)).status, 200);
  t.true((await holds('shared:handbook', zoe)).includes('of the batch'));
  const own = await holds('own', zoe);
  t.true(own.includes('of zoe') && !own.includes('of the batch'));
  const refused = await sue.send('POST', `${memories}/batch`, { ...batch, scope: 'shared:secret' });
  const [outcome] = dataOf(refused).memories as unknown as readonly { readonly error?: { readonly code: string } }[];
  t.is(outcome?.error?.code, 'RESOURCE_NOT_FOUND');
  t.is((await zoe.send('POST', `${memories}/batch`, { ...batch, scope: 'handbook' })).status, 422);
});

/** Every call of `ctx.memory` in a scope. */
const calls: Readonly<Record<string, readonly [Action, (scope: string, id: string) => readonly unknown[]]>> = {
  store: ['write', (scope) => ['store', { content: 'a note on tea', category: 'tea', scope }]],
  search: ['read', (scope) => ['search', 'tea', { scopes: ['own', scope] }]],
  list: ['read', (scope) => ['list', { scope }]],
  update: ['write', (scope, id) => ['update', id, { content: 'the tea is black' }, { scope }]],
  delete: ['write', (scope, id) => ['delete', id, { scope }]],
  forget: ['write', (scope) => ['forget', { scope, category: 'tea' }]],
};

interface Outcome {
  readonly error?: string;
}

async function run(t: ExecutionContext, client: Client, agent: string, call: readonly unknown[]): Promise<Outcome> {
  const body = { messages: [user(JSON.stringify(call))], config: { agent } };
  const reply = await client.send('POST', '/v1/graph/invoke', body);
  t.is(reply.status, 200);
  const { messages } = reply.body.data as { messages: readonly { content: readonly { text: string }[] }[] };
  return JSON.parse(messages.at(-1)?.content[0]?.text ?? '{}') as Outcome;
}

for (const agent of ['refunds', 'loader'])
  for (const name of ['bob', 'sue', 'sam', 'zoe'])
    test.serial(
      `a run of the agent ${agent} for ${name} uses what the owner may and what the agent is given`,
      async (t) => {
        t.timeout(byLoad(120_000));
        const roles = callers[name] ?? [];
        const client = await as(name, roles);
        for (const scope of scopes)
          for (const [call, [action, toCall]] of Object.entries(calls)) {
            const where = `${call} ${scope}`;
            const id = await seed(scope, client);
            const before = await holds(scope, client);
            const { error } = await run(t, client, agent, toCall(scope, id));
            if (runMay(agent, roles, scope, action)) t.is(error, undefined, where);
            else {
              t.is(error, runMay(agent, roles, scope, 'read') ? 'PermissionDenied' : 'NotFound', where);
              t.deepEqual(await holds(scope, client), before, where);
            }
          }
      },
    );

test.serial('own memories stay own: nobody finds them, whatever their roles', async (t) => {
  const ada = await as('ada', []);
  const id = dataOf(await ada.send('POST', memories, { ...note, content: 'tea of ada alone' })).memory_id;
  for (const [name, roles] of Object.entries(callers)) {
    const client = await as(name, roles);
    t.is((await client.send('GET', `${memories}/${id}`)).status, 404);
    const found = await client.send('POST', '/v1/store/search', { query: 'tea of ada alone', scopes: ['own'] });
    t.false(JSON.stringify(found.body).includes('tea of ada alone'), name);
    for (const scope of ['u:ada', 'scope own', 'items of u:ada', 'own ', 'shared:../own']) {
      const refused = await client.send('POST', `${memories}/list`, { scope });
      t.is(refused.status, 422, scope);
      t.true(JSON.stringify(refused.body).includes('must be own, agent:NAME or shared:NAME'), scope);
    }
  }
});

test.serial('the trace of a run names what it found in a scope by the scope and the id', async (t) => {
  const sue = await as('sue', ['staff']);
  const note = { content: 'a page on harbours', memory_type: 'semantic', category: 'pages' };
  const id = dataOf(await sue.send('POST', memories, { ...note, scope: 'shared:handbook' })).memory_id;
  const own = dataOf(await sue.send('POST', memories, note)).memory_id;
  const call = ['search', 'a page on harbours', { scopes: ['own', 'shared:handbook'], scoreThreshold: 1 }];
  const body = { messages: [user(JSON.stringify(call))], config: { agent: 'loader' } };
  const reply = await sue.send('POST', '/v1/graph/invoke', body);
  const { run_id: runId } = (reply.body.data as { meta: { run_id: string } }).meta;
  const trace = await sue.send('GET', `/v1/runs/${runId}/trace`);
  const { spans } = trace.body.data as { spans: readonly { memory_ids?: readonly string[] }[] };
  t.deepEqual(spans.flatMap(({ memory_ids: ids = [] }) => ids).sort(), [own, `shared:handbook/${id}`].sort());
});

test.serial(
  'a change in a scope that is sent again with its key has the reply of the first, until the memory is gone',
  async (t) => {
    const sue = await as('sue', ['staff']);
    const scope = 'shared:handbook';
    const id = await seed(scope, sue);
    const body = { content: 'the tea is black', scope };
    const update = (): Promise<Reply> => sue.send('PUT', `${memories}/${id}`, body, { 'idempotency-key': 'update' });
    const first = await update();
    t.is(first.status, 200);
    await (await as('zoe', ['root'])).send('PUT', `${memories}/${id}`, { content: 'the tea is red', scope });
    const again = await update();
    t.deepEqual([again.status, again.body.data], [200, first.body.data]);
    t.true((await holds(scope, sue)).includes('the tea is red'));
    const keyed = ['first', 'second', 'third'].map((content) => ({ ...note, content, scope, key: 'again' }));
    const batch = { memories: [...keyed, { ...note, content: 'another one', scope }] };
    const before = (await holds(scope, sue)).length;
    const store = (): Promise<Reply> => sue.send('POST', `${memories}/batch`, batch, { 'idempotency-key': 'batch' });
    t.deepEqual((await store()).body.data, (await store()).body.data);
    t.is((await holds(scope, sue)).length, before + 2);
    t.deepEqual(
      (await holds(scope, sue)).filter((each) => keyed.some(({ content }) => content === each)),
      ['third'],
    );
    const path = `${memories}/${id}?scope=${scope}`;
    for (let turn = 0; turn < 2; turn += 1)
      t.is((await sue.send('DELETE', path, undefined, { 'idempotency-key': 'delete' })).status, 200);
    t.is((await update()).status, 404);
  },
);
