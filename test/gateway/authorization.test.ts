import { fileURLToPath } from 'node:url';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import { accessOf } from '@agent-workflow/gateway/http/endpoint';
import { ConfigError } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { byUser } from '../backends/authorization.ts';
import { createClient, user, type Reply } from '../servers/client.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';

const module = fileURLToPath(new URL('../backends/authorization.ts', import.meta.url));
const secret = 's'.repeat(32);
const withAuthorization = (name: string): Readonly<Record<string, unknown>> => ({
  auth: 'jwt',
  authorization: `${module}:${name}`,
});
const as = (claims: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: { exp: inSeconds(300), ...claims } })}`,
});

async function openService(t: ExecutionContext, service: Readonly<Record<string, unknown>>): Promise<string> {
  const env = { HOST: '127.0.0.1', JWT_SECRET_KEY: secret, AUTH_TIMEOUT_MS: '200' };
  const opened = await openEmbedded('echo', env, service);
  t.teardown(() => opened[Symbol.asyncDispose]());
  return opened.url;
}

/** A body that each route which reads by POST takes; the others are refused before theirs is read. */
const bodies: Readonly<Record<string, unknown>> = {
  searchMemories: { query: 'tea' },
  listMemories: {},
  getMemory: {},
};

const routes = endpoints.flatMap((row) =>
  [row, ...row.aliases].map(({ method, path }) => ({ row, method, path: path.replaceAll(/\{\w+\}/g, 'unknown') })),
);
/** Those of operators are refused to all others before the backend is asked. */
const guarded = routes.filter(({ row }) => accessOf(row) && !row.forOperators);
const codeIn = ({ body }: Reply): string => (body.error as { readonly code: string }).code;

test('a backend that allows reads alone: every read passes, everything else is 403, aliases included', async (t) => {
  const url = await openService(t, withAuthorization('readsOnly'));
  const client = createClient(url, as({ sub: 'ada' }));
  t.true(guarded.length >= 20);
  for (const { row, method, path } of guarded) {
    const reply = await client.send(method, path, method === 'GET' ? undefined : bodies[row.name]);
    if (accessOf(row)?.action !== 'read') {
      t.deepEqual([reply.status, codeIn(reply)], [403, 'PERMISSION_DENIED'], `${method} ${path}`);
      continue;
    }
    t.is(reply.status, row.params ? 404 : 200, `${method} ${path}: ${JSON.stringify(reply.body)}`);
  }
});

test('every endpoint under /v1 but ping, that of signed events and who the caller is asks; every other method than GET that is allowed to readers is one that reads', (t) => {
  for (const { row, method, path } of routes) {
    const open = ['ping', 'healthz', 'readyz', 'openApi', 'receiveEvent', 'getMe'].includes(row.name);
    t.is(row.access === 'every caller', open, `${method} ${path}`);
    if (method !== 'GET' && accessOf(row)?.action === 'read') {
      t.true(
        ['searchMemories', 'listMemories', 'getMemory', 'searchThreads', 'countThreads'].includes(row.name),
        row.name,
      );
    }
  }
});

test('a refusal says what is not allowed, and comes before anything of the request is looked at', async (t) => {
  const url = await openService(t, withAuthorization('readsOnly'));
  const response = await fetch(`${url}/v1/graph/invoke`, {
    method: 'POST',
    headers: { ...as({ sub: 'ada' }), 'content-type': 'application/json' },
    body: 'not JSON',
  });
  t.is(response.status, 403);
  t.like(await response.json(), { error: { code: 'PERMISSION_DENIED', message: 'invoke on graph is not allowed' } });
  t.is((await createClient(url).send('DELETE', '/v1/threads/x')).status, 401, 'who is not known is not asked about');
  t.is((await createClient(url, as({ sub: 'ada' })).send('GET', '/v1/ping')).status, 200);
});

test('whoever asks for what the record holds beside the events of a stream needs the right to read it, too', async (t) => {
  const url = await openService(t, withAuthorization('streamsOnly'));
  const client = createClient(url, as({ sub: 'ada' }));
  const body = { messages: [user('x')] };
  let id = '';
  for await (const chunk of client.stream(body)) id = chunk.id.split(':')[0] ?? '';
  t.not(id, '');
  const refused = { error: { code: 'PERMISSION_DENIED', message: 'read on checkpointer is not allowed' } };
  const started = await client.send('POST', '/v1/graph/stream', { ...body, stream_modes: ['values'] });
  t.like([started.status, started.body], [403, refused]);
  const followed = await client.send('GET', `/v1/runs/${id}/stream?stream_modes=tasks`);
  t.like([followed.status, followed.body], [403, refused]);
});

test('it is asked about each row with the claims of the caller', async (t) => {
  const url = await openService(t, withAuthorization('byUser'));
  const claims = { sub: 'an editor', may: 'all', roles: ['editor'], exp: inSeconds(300) };
  const client = createClient(url, as(claims));
  t.is((await client.send('POST', '/v1/graph/invoke', { messages: [user('x')] })).status, 200);
  t.is((await client.send('GET', '/v1/threads')).status, 200);
  t.is((await client.send('POST', '/v1/store/memories/list', {})).status, 200);
  const asked = byUser.asked.filter(({ user }) => user['sub'] === claims.sub);
  t.deepEqual(asked, [
    { user: claims, resource: 'graph', action: 'invoke' },
    { user: claims, resource: 'checkpointer', action: 'read' },
    { user: claims, resource: 'store', action: 'read' },
  ]);
});

for (const may of ['throw', 'reject', 'hang', 'truthy', 'nothing']) {
  test(`a backend that fails (${may}) is 503 on every row, never a pass`, async (t) => {
    const url = await openService(t, withAuthorization('byUser'));
    const client = createClient(url, as({ sub: 'ada', may }));
    const replies = await Promise.all(guarded.map(({ method, path }) => client.send(method, path)));
    for (const reply of replies) {
      t.deepEqual([reply.status, codeIn(reply)], [503, 'SERVICE_UNAVAILABLE']);
      t.truthy(reply.headers.get('retry-after'));
      t.false(JSON.stringify(reply.body).includes('secret of the backend'));
    }
  });
}

test('without authentication the user is empty, and the backend still decides', async (t) => {
  const url = await openService(t, { authorization: `${module}:readsOnly` });
  const client = createClient(url);
  t.is((await client.send('GET', '/v1/threads')).status, 200);
  t.is((await client.send('POST', '/v1/graph/invoke', { messages: [user('x')] })).status, 403);
  const asking = createClient(await openService(t, { authorization: `${module}:byUser` }));
  t.is((await asking.send('GET', '/v1/graph')).status, 403);
  t.deepEqual(
    byUser.asked.filter(({ user }) => user['sub'] === undefined),
    [{ user: {}, resource: 'graph', action: 'read' }],
  );
});

for (const [name, why] of [
  ['wrong', 'must be an object with a function "authorize"'],
  ['unclear', 'has a needsAgent that is neither true nor false'],
  [
    'gone',
    `${module} exports no "gone", only byAgent, byThread, byUser, readsOnly, streamsOnly, unclear, wrong (${module}:`,
  ],
] as const) {
  test(`a start is stopped by authorization ${name}`, async (t) => {
    const error = await t.throwsAsync(openEmbedded('echo', { JWT_SECRET_KEY: secret }, withAuthorization(name)), {
      instanceOf: ConfigError,
    });
    t.true(error.message.startsWith(`authorization ${JSON.stringify(`${module}:${name}`)}: ${why}`), error.message);
  });
}
