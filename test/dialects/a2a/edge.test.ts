import { fileURLToPath } from 'node:url';
import { TaskState } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { openEmbedded } from '../../servers/embedded.ts';
import { agentAt, makeWorkspace, startStandalone, testedAgent } from '../../servers/standalone.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { until } from '../../until.ts';
import { asTask, saying, textsOf } from './service.ts';

const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));
const page = 'https://page.example';

interface Sent {
  readonly status: number;
  readonly text: string;
}

const json = { 'content-type': 'application/json', 'a2a-version': '1.0' };

const secured = {
  ...{ agents: { support: agentAt('recorded'), office: agentAt('recorded') }, default_agent: 'support' },
  ...{ auth: 'jwt', authorization: `${module}:byAgent` },
};

test('a caller who may use one agent reads, answers and stops no task of another, by either binding', async (t) => {
  await using service = await openEmbedded(null, { HOST: '127.0.0.1', JWT_SECRET_KEY: secret }, secured);
  const as = (...agents: readonly string[]) => {
    const token = makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada', agents } });
    const headers = { ...json, authorization: `Bearer ${token}` };
    const send = async (method: string, path: string, body?: object): Promise<Sent> => {
      const more = body && { body: JSON.stringify(body) };
      const reply = await fetch(`${service.url}/a2a/${path}`, { method, headers, ...more });
      return { status: reply.status, text: await reply.text() };
    };
    const call = (agent: string, method: string, params: object): Promise<Sent> =>
      send('POST', agent, { jsonrpc: '2.0', id: 1, method, params });
    return { send, call };
  };
  const asking = (more: object = {}): object => ({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'ask the secret' }], ...more },
  });
  const [office, support] = [as('office'), as('support')];
  const made = await office.send('POST', 'office/message:send', asking());
  t.is(made.status, 200, made.text);
  const { task } = JSON.parse(made.text) as { task: { id: string; contextId: string } };
  const { id, contextId } = task;

  t.is((await support.call('office', 'GetTask', { id })).status, 403);
  t.is((await support.send('GET', `office/tasks/${id}`)).status, 403);
  const forbidden: readonly (readonly [method: string, params: object])[] = [
    ['GetTask', { id }],
    ['CancelTask', { id }],
    ['SubscribeToTask', { id }],
    ['ListTaskPushNotificationConfigs', { taskId: id }],
    ['CreateTaskPushNotificationConfig', { taskId: id, url: 'https://example.com' }],
    ['SendMessage', asking({ taskId: id })],
    ['SendMessage', asking({ contextId })],
    ['SendStreamingMessage', asking({ contextId })],
    ['ListTasks', { contextId }],
  ];
  for (const [method, params] of forbidden) {
    const { text } = await support.call('support', method, params);
    t.notRegex(text, /go on\?|secret|"result":\{"id"/, method);
    if (method !== 'ListTasks') t.regex(text, /"error"/, method);
  }
  t.regex((await support.call('support', 'ListTasks', { contextId })).text, /"tasks":\[\]/);
  t.regex((await office.call('office', 'GetTask', { id })).text, /TASK_STATE_INPUT_REQUIRED/);
});

test('cards are read by everybody and say how callers authenticate; all else takes credentials', async (t) => {
  await using service = await openEmbedded(null, { HOST: '127.0.0.1', JWT_SECRET_KEY: secret }, secured);
  const card = await fetch(`${service.url}/a2a/office/.well-known/agent-card.json`);
  t.like(await card.json(), {
    name: 'office',
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  });
  t.is((await fetch(`${service.url}/.well-known/agent-card.json`)).status, 200);
  t.is((await fetch(`${service.url}/a2a/office/extendedAgentCard`, { headers: json })).status, 401);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });
  t.is((await fetch(`${service.url}/a2a/office`, { method: 'POST', headers: json, body })).status, 401);
});

test('a card names the address that its reader has used, and the scheme that a trusted proxy says', async (t) => {
  await using service = await openEmbedded('obedient', { HOST: '127.0.0.1', TRUST_PROXY_HOPS: '1' });
  const read = async (headers: Readonly<Record<string, string>>): Promise<string> => {
    const card = await fetch(`${service.url}/.well-known/agent-card.json`, { headers });
    return ((await card.json()) as { supportedInterfaces: { url: string }[] }).supportedInterfaces[0]?.url ?? '';
  };
  t.true((await read({})).startsWith(`${service.url}/a2a/`));
  t.true((await read({ 'x-forwarded-proto': 'https' })).startsWith('https://127.0.0.1'));
});

test('a reply that takes too long is the task as it stands, which goes on', async (t) => {
  await using service = await openEmbedded('typing', { HOST: '127.0.0.1', INVOKE_TIMEOUT_MS: '300' });
  const client = await new ClientFactory().createFromUrl(`${service.url}/a2a/${testedAgent}/`);
  const task = asTask(await client.sendMessage(saying('hello')));
  t.is(task.status?.state, TaskState.TASK_STATE_WORKING);
  const read = async (): Promise<TaskState | undefined> =>
    (await client.getTask({ tenant: '', id: task.id, historyLength: 0 })).status?.state;
  await until(async () => (await read()) === TaskState.TASK_STATE_COMPLETED);
  t.pass();
});

test('a page of a listed origin may send what clients of A2A send', async (t) => {
  await using service = await openEmbedded('obedient', { HOST: '127.0.0.1', CORS_ORIGINS: page });
  const asked = 'authorization,content-type,a2a-version,a2a-extensions';
  const preflight = await fetch(`${service.url}/a2a/${testedAgent}`, {
    method: 'OPTIONS',
    headers: { origin: page, 'access-control-request-method': 'POST', 'access-control-request-headers': asked },
  });
  const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(',');
  t.deepEqual(
    asked.split(',').filter((name) => !allowed.includes(name)),
    [],
  );
});

test('the version stands in a header or in the query, where the header counts; other parameters are refused', async (t) => {
  await using service = await openEmbedded('obedient');
  const replies = async (query: string, headers: Readonly<Record<string, string>> = {}) => {
    const get = await fetch(`${service.url}/a2a/${testedAgent}/tasks${query}`, { headers });
    const rpc = await fetch(`${service.url}/a2a/${testedAgent}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }),
    });
    return [get.status, /"result"|VERSION_NOT_SUPPORTED|INVALID_PARAMS/.exec(await rpc.text())?.[0]];
  };
  t.deepEqual(await replies('?A2A-Version=1.0'), [200, '"result"']);
  t.deepEqual(await replies('?A2A-Version=0.3'), [400, 'VERSION_NOT_SUPPORTED']);
  t.deepEqual(await replies(''), [400, 'VERSION_NOT_SUPPORTED']);
  t.deepEqual(await replies('?A2A-Version=1.0', { 'a2a-version': '0.3' }), [400, 'VERSION_NOT_SUPPORTED']);
  t.deepEqual(await replies('?A2A-Version=1.0&other=1'), [400, 'INVALID_PARAMS']);
});

test('a batch of calls is refused, and named', async (t) => {
  await using service = await openEmbedded('obedient');
  for (const [path, headers] of [
    [`/a2a/${testedAgent}`, { 'a2a-version': '1.0' }],
    ['/mcp', { accept: 'application/json, text/event-stream' }],
  ] as const) {
    const send = async (body: string) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
      return (await (await fetch(`${service.url}${path}`, init)).json()) as object;
    };
    t.like(await send('[{"jsonrpc":"2.0","id":1,"method":"ping"}]'), {
      ...{ jsonrpc: '2.0', id: null },
      error: { code: -32_600, message: 'the body must be one JSON object: batches are not taken' },
    });
    t.like(await send('{'), { id: null, error: { code: -32_700 } });
  }
});

test('without the dialect its paths are absent', async (t) => {
  await using service = await openEmbedded('obedient', { DIALECTS: 'langgraph' });
  for (const path of ['/.well-known/agent-card.json', `/a2a/${testedAgent}/.well-known/agent-card.json`]) {
    const reply = await fetch(`${service.url}${path}`);
    t.is(reply.status, 404);
    t.like(await reply.json(), { error: { code: 'RESOURCE_NOT_FOUND' } });
  }
});

test('a call whose service is killed is made again, and finds the task that it had begun', async (t) => {
  t.timeout(byLoad(120_000));
  await using workspace = await makeWorkspace('typing');
  const env = { ...workspace.env, HOST: '127.0.0.1' };
  await using first = await startStandalone(env);
  const { url } = first;
  const client = await new ClientFactory().createFromUrl(`${url}/a2a/${testedAgent}/`);
  const message = saying('hello');
  const cut = client.sendMessage(message).then(
    () => 'answered',
    () => 'cut',
  );
  const running = async (): Promise<readonly { status: string }[]> => {
    const reply = await fetch(`${url}/v1/runs`);
    return ((await reply.json()) as { data: { runs: { status: string }[] } }).data.runs;
  };
  await until(async () => (await running())[0]?.status === 'running');
  await first.stop('SIGKILL');
  t.is(await cut, 'cut');
  await using second = await startStandalone({ ...env, PORT: new URL(url).port });
  t.is(second.url, url);
  const task = asTask(await client.sendMessage(message));
  t.is(textsOf(task)[0], Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join(''));
  t.is((await running()).length, 1);
});

test('a card and the address of a file begin with the address that the operator has given the gateway', async (t) => {
  const agents = { back: agentAt('filing-back') };
  const env = { HOST: '127.0.0.1', PUBLIC_URL: 'https://agents.example.com/behind/' };
  await using behind = await openEmbedded(null, env, { agents, default_agent: 'back' });
  const card = (await (await fetch(`${behind.url}/.well-known/agent-card.json`)).json()) as {
    readonly supportedInterfaces: readonly { readonly url: string }[];
  };
  t.deepEqual(
    new Set(card.supportedInterfaces.map(({ url }) => url)),
    new Set(['https://agents.example.com/behind/a2a/back']),
  );
  const sent = await fetch(`${behind.url}/a2a/back/message:send`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' } },
    body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ raw: 'aGVsbG8=' }] } }),
  });
  t.regex(await sent.text(), /"url":"https:\/\/agents\.example\.com\/behind\/files\//);
});
