import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { dialects } from '@agent-workflow/gateway/dialects';
import { accessOf } from '@agent-workflow/gateway/http/endpoint';
import { newId } from '@agent-workflow/kit/ids';
import test, { type ExecutionContext } from 'ava';
import WebSocket from 'ws';
import { byLoad } from '../by-load.ts';
import { createClient, user } from '../servers/client.ts';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';
import { keysCommand, type Ended } from '../servers/keys-command.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { until } from '../until.ts';

const secret = 's'.repeat(32);
const home = { HOST: '127.0.0.1', API_KEYS: 'on' };

interface Served {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Makes a key and gives its text. */
  readonly make: (...args: readonly string[]) => Promise<string>;
  readonly revoke: (key: string) => Promise<Ended>;
}

/** A service whose record is on disk. */
async function serveKeys(
  t: ExecutionContext,
  agent = 'who',
  more: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, unknown>> = { auth: 'jwt' },
): Promise<Served> {
  const workspace = await makeWorkspace(agent, service);
  t.teardown(() => workspace[Symbol.asyncDispose]());
  const env = { ...workspace.env, ...home, ...more };
  const opened: Embedded = await openEmbedded(agent, env, service);
  t.teardown(() => opened[Symbol.asyncDispose]());
  return {
    ...{ url: opened.url, env, folder: workspace.folder },
    make: async (...args) => {
      const { out, complaint, code } = await keysCommand(env, 'create', ...args);
      t.is(code, 0, complaint);
      return out.trim();
    },
    revoke: (key) => keysCommand(env, 'revoke', idOf(key)),
  };
}

const idOf = (key: string): string => key.slice(4, 20);
const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });
const statusOf = async (url: string, headers: Readonly<Record<string, string>>, path = '/v1/ping'): Promise<number> => {
  const reply = await fetch(`${url}${path}`, { headers });
  await reply.body?.cancel();
  return reply.status;
};

test('a key that the command makes lets in as its user, with its roles, in either header; list and record have no secret', async (t) => {
  const { url, env, folder, make } = await serveKeys(t);
  const key = await make(
    '--user',
    'ada',
    '--roles',
    'manager,support',
    '--scopes',
    'graph,checkpointer:read',
    '--name',
    'CI',
  );
  t.regex(key, /^awk_[0-9a-f]{88}$/);
  for (const headers of [bearer(key), { 'x-api-key': key }]) {
    const { body, status } = await createClient(url, headers).send('POST', '/v1/graph/invoke', {
      messages: [user('who am I?')],
    });
    t.is(status, 200);
    const { messages } = body.data as { messages: readonly { content: readonly { text: string }[] }[] };
    const seen = JSON.parse(messages[0]?.content[0]?.text ?? '') as Record<string, unknown>;
    t.deepEqual(seen['user'], {
      ...{ user_id: 'ada', roles: ['manager', 'support'] },
      ...{ api_key_id: idOf(key), api_key_scopes: ['graph', 'checkpointer:read'] },
    });
  }
  const threads = await createClient(url, bearer(key)).send('GET', '/v1/threads');
  t.is((threads.body.data as { threads: readonly unknown[] }).threads.length, 2);

  let listed = '';
  await until(async () => {
    // A use that could not be written down in time is written down with a later one.
    t.is(await statusOf(url, bearer(key)), 200);
    listed = (await keysCommand(env, 'list')).out;
    return !listed.includes('never');
  });
  const [head = '', line = ''] = listed.trimEnd().split('\n');
  t.regex(head, /^ID +USER +ROLES +SCOPES +CREATED +EXPIRES +LAST USED +NAME$/);
  t.deepEqual(line.split(/ {2,}/).toSpliced(4, 3), [
    idOf(key),
    'ada',
    'manager,support',
    'graph,checkpointer:read',
    'CI',
  ]);
  const kept = readdirSync(join(folder, 'data')).map((name) => readFileSync(join(folder, 'data', name), 'latin1'));
  t.true(kept.some((bytes) => bytes.includes(idOf(key))));
  for (const text of [listed, ...kept]) t.false(text.includes(key.slice(20, -8)));
});

test('what is no key is 401, in the same words as one that is unknown, misspelt, revoked or of a wrong secret', async (t) => {
  const { url, make, revoke } = await serveKeys(t, 'who', { JWT_SECRET_KEY: secret });
  const [key, other] = [await make('--user', 'ada', '--scopes', '*'), await make('--user', 'bo', '--scopes', '*')];
  t.is(await statusOf(url, bearer(key)), 200);
  const token = makeToken('HS256', secret, { claims: { user_id: 'cy', exp: inSeconds(60) } });
  t.is(await statusOf(url, bearer(token)), 200, 'tokens are taken beside keys');
  t.is(await statusOf(url, { ...bearer(token), 'x-api-key': 'awk_nonsense' }), 200);
  t.is(await statusOf(url, { ...bearer('awk_nonsense'), 'x-api-key': key }), 401);
  t.is(await statusOf(url, { 'x-api-key': token }), 401);
  t.is((await revoke(other)).code, 0);
  await until(async () => (await statusOf(url, bearer(other))) === 401);
  const { crc32 } = await import('node:zlib');
  const withChecksum = (begin: string): string => `${begin}${crc32(begin).toString(16).padStart(8, '0')}`;
  const wrong = {
    misspelt: `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`,
    unknown: withChecksum(`awk_${'0'.repeat(80)}`),
    'of a wrong secret': withChecksum(`${key.slice(0, 20)}${'0'.repeat(64)}`),
    'of the secret of another': withChecksum(`${key.slice(0, 20)}${other.slice(20, -8)}`),
    revoked: other,
    short: 'awk_',
    'in capitals': key.toUpperCase(),
  };
  for (const [what, given] of Object.entries(wrong)) {
    const reply = await fetch(`${url}/v1/ping`, { headers: bearer(given) });
    t.is(reply.status, 401, what);
    t.is(reply.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
    const { error } = (await reply.json()) as { error: { code: string; message: string } };
    t.is(error.code, 'AUTHENTICATION_FAILED');
    if (given.startsWith('awk_')) t.is(error.message, 'the API key is not valid', what);
  }
  t.is((await revoke(other)).complaint, `there is no key ${idOf(other)}\n`);
});

test('a key in an address, in a cookie, in a form or by another scheme lets nobody in', async (t) => {
  const { url, make } = await serveKeys(t);
  const key = await make('--user', 'ada', '--scopes', '*');
  for (const query of ['api_key', 'x-api-key', 'access_token', 'token', 'ticket'])
    t.is(await statusOf(url, {}, `/v1/threads?${query}=${key}`), 401, query);
  for (const headers of [
    { cookie: `token=${key}; x-api-key=${key}` },
    { authorization: key },
    { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` },
    { authorization: `ApiKey ${key}` },
    { 'api-key': key },
    { 'x-api-key': `${key}, ${key}` },
    { 'x-api-key': ` Bearer ${key}` },
  ] as readonly Readonly<Record<string, string>>[])
    t.is(await statusOf(url, headers), 401, Object.keys(headers).join());
});

test('the roles of a key stand where the rules of access seek them', async (t) => {
  const access = { claim: 'groups', roles: { manager: { is: 'approver' } } };
  const { url, make } = await serveKeys(t, 'who', {}, { auth: 'jwt', access });
  const key = await make('--user', 'ada', '--roles', 'manager', '--scopes', '*');
  const { body } = await createClient(url, bearer(key)).send('POST', '/v1/graph/invoke', {
    messages: [user('who am I?')],
  });
  const { messages } = body.data as { messages: readonly { content: readonly { text: string }[] }[] };
  const seen = JSON.parse(messages[0]?.content[0]?.text ?? '') as { user: object };
  t.like(seen.user, { user_id: 'ada', groups: ['manager'] });
});

test.serial('a role that service.json does not name is a warning when a key is made with it', async (t) => {
  await using workspace = await makeWorkspace('who', { auth: 'jwt', access: { roles: { root: { is: 'admin' } } } });
  const env = { ...workspace.env, ...home };
  await using _ = await openEmbedded('who', env, { auth: 'jwt' });
  const made = await keysCommand(env, 'create', '--user', 'ada', '--scopes', '*', '--roles', 'nosuch,root');
  t.is(made.code, 0);
  t.regex(made.complaint, /^warning: .*service\.json names no role "nosuch": it counts for nothing/);
  t.false(made.complaint.includes('"root"'));
  t.regex((await keysCommand(env, 'create', '--help')).out, /after 90 days/);
});

test.serial('a key that may follow runs reads no state of a thread by any protocol', async (t) => {
  const { url, make } = await serveKeys(t);
  const whole = createClient(url, bearer(await make('--user', 'ada', '--scopes', '*')));
  const key = bearer(await make('--user', 'ada', '--scopes', 'graph:stream'));
  const thread_id = newId();
  await whole.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id } });
  const { run_id } = (await whole.send('GET', `/v1/threads/${thread_id}`)).body.data as { run_id: string };
  const run = `/langgraph/threads/${thread_id}/runs`;
  const status = async (path: string, body?: object): Promise<number> => {
    const headers = { ...key, 'content-type': 'application/json' };
    const reply = await fetch(url + path, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
    await reply.body?.cancel();
    return reply.status;
  };
  t.is(await status(`/v1/runs/${run_id}/stream?stream_modes=values`), 403);
  t.is(await status('/agui/default/connect', { threadId: thread_id }), 403);
  const stream = { assistant_id: 'default', input: null };
  for (const mode of ['values', 'checkpoints', 'debug']) {
    t.is(await status(`${run}/${run_id}/stream?stream_mode=${mode}`), 403);
    t.is(await status(`${run}/stream`, { ...stream, stream_mode: ['updates', mode] }), 403);
  }
  t.is(await status(`${run}/${run_id}/stream`), 403);
  t.is(await status(`${run}/${run_id}/stream?stream_mode=messages-tuple`), 200);
  t.is(await status(`${run}/stream`, { ...stream, stream_mode: 'updates' }), 200);
});

test.serial('a key that may start runs deletes no thread with one, by any protocol', async (t) => {
  const { url, make } = await serveKeys(t);
  const whole = createClient(url, bearer(await make('--user', 'ada', '--scopes', '*')));
  const key = createClient(url, bearer(await make('--user', 'ada', '--scopes', 'graph')));
  const both = createClient(url, bearer(await make('--user', 'ada', '--scopes', 'graph,checkpointer:delete')));
  const thread_id = newId();
  await whole.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id } });
  const of = (config: object) => ({ messages: [user('hello')], config: { on_completion: 'delete', ...config } });
  const onThread = of({ thread_id });
  const inGraph = { assistant_id: 'default', input: null, on_completion: 'delete' };
  const run = `/langgraph/threads/${thread_id}/runs`;
  for (const [path, body] of [
    ['/v1/graph/invoke', onThread],
    ['/v1/graph/stream', onThread],
    ['/v1/runs', onThread],
    ['/v1/runs/batch', { runs: [of({}), onThread] }],
    [run, inGraph],
    [`${run}/wait`, inGraph],
    [`${run}/stream`, { ...inGraph, stream_mode: 'updates' }],
  ] as const)
    t.like(await key.send('POST', path, body), { status: 403 }, path);
  const command = { id: 1, method: 'run.start', params: inGraph };
  const commanded = await key.send('POST', `/langgraph/threads/${thread_id}/commands`, command);
  t.regex(JSON.stringify(commanded.body), /on_completion is not supported/);
  t.is((await key.send('POST', '/v1/graph/invoke', of({}))).status, 200);
  t.is((await key.send('POST', '/langgraph/runs/wait', { ...inGraph, input: {} })).status, 200);
  t.is((await both.send('POST', '/v1/runs', onThread)).status, 202);
});

test('guesses of keys are limited as those of tokens are', async (t) => {
  const { url, make } = await serveKeys(t, 'who', { RATE_LIMIT_AUTH_FAILURES: '5' });
  const key = await make('--user', 'ada', '--scopes', '*');
  for (let guess = 0; guess < 5; guess += 1) t.is(await statusOf(url, bearer(`awk_${'1'.repeat(88)}`)), 401);
  t.is(await statusOf(url, bearer(`awk_${'1'.repeat(88)}`)), 429);
  t.is(await statusOf(url, bearer(key)), 429);
});

const withoutRight = [
  ...['a2aCard', 'a2aDefaultCard', 'getMe', 'healthz', 'lgInfo', 'lgOk', 'lgOpenApi', 'mcpResourceMetadata'],
  ...['mcpResume', 'mcpSend', 'openApi', 'ping', 'readyz', 'receiveEvent'],
];

test('a key has its scopes and nothing more, in every row of every dialect', async (t) => {
  const { url, make } = await serveKeys(t, 'who', { DIALECTS: 'a2a,agui,langgraph,mcp,openai' });
  const key = await make('--user', 'ada', '--scopes', 'store:read');
  let refused = 0;
  for (const row of dialects.flatMap(({ rows }) => rows)) {
    const access = accessOf(row);
    if (!access) continue;
    for (const { method, path } of [row, ...row.aliases]) {
      const asked = await fetch(`${url}${path.replaceAll(/\{\w+\}/g, 'x')}`, {
        method,
        headers: {
          ...{ ...bearer(key), 'a2a-version': '1.0' },
          ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
        },
        ...(method === 'GET' ? {} : { body: '{}' }),
      });
      await asked.body?.cancel();
      const isWithin = access.resource === 'store' && access.action === 'read';
      t.is(asked.status === 403, !isWithin, `${method} ${path}: ${String(asked.status)}`);
      refused += isWithin ? 0 : 1;
    }
  }
  t.true(refused > 150, String(refused));
  // What asks for no right by itself: what is public, what is signed, and MCP, which asks for each method.
  const open = dialects.flatMap(({ rows }) => rows.filter((row) => !accessOf(row)).map(({ name }) => name));
  t.deepEqual(open.toSorted(), withoutRight);
  const call = async (method: string, params: object): Promise<unknown> => {
    const reply = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return [reply.status, await reply.json()];
  };
  t.like(await call('tools/list', {}), { 0: 403, 1: { error: { message: 'read on graph is not allowed' } } });
  const called = await call('tools/call', { name: 'default', arguments: { message: 'hello' } });
  t.like(called, { 0: 403, 1: { error: { message: 'invoke on graph is not allowed' } } });
});

test('what a key has let in ends within 5 s of its revocation: streams, WebSockets, waits, and what tickets of it let in', async (t) => {
  const { url, make, revoke } = await serveKeys(t, 'sleeping', { JWT_SECRET_KEY: secret, DIALECTS: 'langgraph' });
  const key = await make('--user', 'ada', '--scopes', '*');
  const other = await make('--user', 'ada', '--scopes', '*');
  const client = createClient(url, bearer(key));
  const begun = await client.send('POST', '/v1/runs', { messages: [user('600000')], config: { thread_id: 'long' } });
  const { run_id: runId } = begun.body.data as { run_id: string };
  const made = await client.send('POST', `/v1/runs/${runId}/ticket`);
  const { ticket } = made.body.data as { ticket: string };
  const socketTicket = await client.send('POST', '/langgraph/threads/long/ticket');
  const { ticket: ofThread } = socketTicket.body as unknown as { ticket: string };

  const form = new FormData();
  form.set('file', new Blob(['kept'], { type: 'text/plain' }), 'a.txt');
  const sent = await fetch(`${url}/v1/files/upload`, { method: 'POST', headers: bearer(key), body: form });
  const { file_id: fileId } = ((await sent.json()) as { data: { file_id: string } }).data;
  const addressBy = async (by: string): Promise<string> => {
    const reply = await createClient(url, bearer(by)).send('GET', `/v1/files/${fileId}/url`);
    return (reply.body.data as { url: string }).url;
  };
  const [address, addressOfOther] = [await addressBy(key), await addressBy(other)];
  for (const path of [address, addressOfOther]) t.is(await statusOf(url, {}, path), 200);

  const ends = new Map<string, number>();
  let revokedAt = Infinity;
  const follow = async (what: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
    const reply = await fetch(`${url}${path}`, { headers }).catch(() => undefined);
    await reply?.text().catch(() => undefined);
    ends.set(what, Date.now() - revokedAt);
  };
  const socketOf = (what: string, query: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
    const address = `${url.replace('http', 'ws')}/langgraph/threads/long/stream/events${query}`;
    const socket = new WebSocket(address, { headers });
    socket.on('error', () => undefined);
    socket.on('close', () => ends.set(what, Date.now() - revokedAt));
    return once(socket, 'open');
  };
  const stream = `/v1/runs/${runId}/stream`;
  const open = [
    follow('a stream', stream, bearer(key)),
    follow('a stream by the other header', stream, { 'x-api-key': key }),
    follow('a stream by a ticket', `${stream}?ticket=${ticket}`),
    follow('a wait', `/v1/runs/${runId}/wait`, bearer(key)),
  ];
  await Promise.all([
    socketOf('a socket', '', bearer(key)),
    socketOf('a socket by a ticket', `?ticket=${ofThread}`, {}),
    socketOf('a socket of another key', '', bearer(other)),
  ]);
  const left = new AbortController();
  const staying = fetch(`${url}${stream}`, { headers: bearer(other), signal: left.signal });
  await delay(1000);
  t.deepEqual([...ends.keys()], []);

  revokedAt = Date.now();
  t.is((await revoke(key)).code, 0);
  await Promise.all(open);
  await until(() => ends.size >= 6);
  for (const [what, ms] of ends) t.true(ms < byLoad(5000), `${what} ended after ${String(ms)} ms`);
  t.false(ends.has('a socket of another key'));
  await until(async () => (await statusOf(url, bearer(key))) === 401);
  t.is(await statusOf(url, {}, `${stream}?ticket=${ticket}`), 401);
  t.is(await statusOf(url, {}, `/langgraph/threads/long/stream/events?ticket=${ofThread}`), 401);
  t.is(await statusOf(url, {}, address), 401);
  t.is(await statusOf(url, {}, addressOfOther), 200);
  t.is((await staying).status, 200);
  left.abort();
});

test('what a key has set up starts nothing more when the key is revoked', async (t) => {
  const { url, make, revoke } = await serveKeys(t);
  const [key, other] = [await make('--user', 'ada', '--scopes', '*'), await make('--user', 'ada', '--scopes', '*')];
  const [client, left] = [createClient(url, bearer(key)), createClient(url, bearer(other))];
  const run = { messages: [user('hello')] };
  const scheduleBy = async ({ send }: typeof client): Promise<string> => {
    const { body } = await send('POST', '/v1/schedules', { cron: '0 0 1 7 *', run });
    return (body.data as { schedule_id: string }).schedule_id;
  };
  const [revoked, kept] = [await scheduleBy(client), await scheduleBy(left)];
  t.is((await revoke(key)).code, 0);
  await until(async () => (await statusOf(url, bearer(key))) === 401);
  for (const id of [revoked, kept]) t.true((await left.send('POST', `/v1/schedules/${id}/run`)).status < 300);
  const runsOf = async (): Promise<number> => {
    const { body } = await left.send('GET', '/v1/runs');
    return (body.data as { runs: readonly unknown[] }).runs.length;
  };
  const shown = async (id: string): Promise<object> => (await left.send('GET', `/v1/schedules/${id}`)).body.data;
  await until(async () => (await runsOf()) === 1 && JSON.stringify(await shown(revoked)).includes('not allow'));
  t.false(JSON.stringify(await shown(kept)).includes('not allow'));
  t.is(await runsOf(), 1);
});

test.serial('a run that a key has set up for later does not start when the key is revoked', async (t) => {
  const { url, make, revoke } = await serveKeys(t);
  const [key, other] = [await make('--user', 'ada', '--scopes', '*'), await make('--user', 'ada', '--scopes', '*')];
  const [client, left] = [createClient(url, bearer(key)), createClient(url, bearer(other))];
  const later = { messages: [user('hello')], start_at: new Date(Date.now() + byLoad(4000)).toISOString() };
  const runBy = async ({ send }: typeof client): Promise<string> =>
    ((await send('POST', '/v1/runs', later)).body.data as { run_id: string }).run_id;
  const [revoked, kept] = [await runBy(client), await runBy(left)];
  t.is((await revoke(key)).code, 0);
  const statusBy = async (id: string): Promise<string> =>
    ((await left.send('GET', `/v1/runs/${id}`)).body.data as { status: string }).status;
  t.is(await statusBy(revoked), 'scheduled');
  await until(async () => (await statusBy(kept)) === 'completed');
  await until(async () => (await statusBy(revoked)) === 'failed');
  const { body } = await left.send('GET', `/v1/runs/${revoked}`);
  t.like((body.data as { error: object }).error, {
    message:
      'the API key by which it was set up does not allow the run any more: it was revoked, has expired or lacks the scope, keys are off, or the authorization backend refuses it',
  });
});

interface Trigger {
  readonly trigger_id: string;
  readonly secret: string;
}

/** Sends a signed event. @returns the status of the reply */
async function sendEvent(url: string, { trigger_id: id, secret: signs }: Trigger): Promise<number> {
  const body = JSON.stringify({ zen: 'Keep it simple.' });
  const signature = createHmac('sha256', signs).update(body).digest('hex');
  const reply = await fetch(`${url}/v1/triggers/${id}/events`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', 'x-github-event': 'push', 'x-github-delivery': id },
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  });
  await reply.body?.cancel();
  return reply.status;
}

test.serial(
  'what a key has set up starts nothing while API keys are off, and what a token has set up does',
  async (t) => {
    const workspace = await makeWorkspace('who', { auth: 'jwt' });
    t.teardown(() => workspace[Symbol.asyncDispose]());
    const env = { ...workspace.env, ...home, JWT_SECRET_KEY: secret };
    const scheduleBy = async ({ send }: ReturnType<typeof createClient>): Promise<string> => {
      const { body } = await send('POST', '/v1/schedules', { cron: '0 0 1 7 *', run: { messages: [user('hello')] } });
      return (body.data as { schedule_id: string }).schedule_id;
    };
    const byToken = bearer(makeToken('HS256', secret, { claims: { user_id: 'ada', exp: inSeconds(600) } }));
    const triggerBy = async ({ send }: ReturnType<typeof createClient>): Promise<Trigger> =>
      (await send('POST', '/v1/triggers', { format: 'github', message: 'Hello.' })).body.data;
    const made = await (async () => {
      await using opened = await openEmbedded('who', env, { auth: 'jwt' });
      const key = (
        await keysCommand(env, 'create', '--user', 'ada', '--scopes', 'schedules,graph,triggers')
      ).out.trim();
      const [client, token] = [createClient(opened.url, bearer(key)), createClient(opened.url, byToken)];
      const triggers = [await triggerBy(client), await triggerBy(token)];
      return { schedules: [await scheduleBy(client), await scheduleBy(token)] as const, triggers };
    })();
    await using opened = await openEmbedded('who', { ...env, API_KEYS: 'off' }, { auth: 'jwt' });
    const client = createClient(opened.url, byToken);
    const { schedules, triggers } = made;
    const events = await Promise.all(triggers.map((trigger) => sendEvent(opened.url, trigger)));
    t.deepEqual(events, [403, 200]);
    for (const id of schedules) t.true((await client.send('POST', `/v1/schedules/${id}/run`)).status < 300);
    const shown = async (id: string): Promise<string> =>
      JSON.stringify((await client.send('GET', `/v1/schedules/${id}`)).body);
    await until(async () => (await shown(schedules[0])).includes('not allow'));
    const runs = async () =>
      ((await client.send('GET', '/v1/runs')).body.data as { runs: readonly unknown[] }).runs.length;
    await until(async () => (await runs()) === 2);
    t.false((await shown(schedules[1])).includes('not allow'));
  },
);

test.serial(
  'an operator who came by a key has it in the audit, and their stream of another one’s run ends when it is revoked',
  async (t) => {
    const access = { roles: { ops: { is: 'operator', reads: 'contents' }, root: { is: 'admin' } } };
    const { url, make, revoke } = await serveKeys(t, 'sleeping', {}, { auth: 'jwt', access });
    const own = createClient(url, bearer(await make('--user', 'ada', '--scopes', '*')));
    const key = await make('--user', 'pat', '--roles', 'ops', '--scopes', 'admin');
    const root = await make('--user', 'zoe', '--roles', 'root', '--scopes', 'admin');
    const begun = await own.send('POST', '/v1/runs', { messages: [user('600000')], config: { thread_id: 'long' } });
    const { run_id: runId } = begun.body.data as { run_id: string };
    const following = await fetch(`${url}/v1/admin/runs/${runId}/stream?user_id=ada&reason=why`, {
      headers: bearer(key),
    });
    t.is(following.status, 200);
    const lines = await (await fetch(`${url}/v1/admin/audit`, { headers: bearer(root) })).text();
    t.like(JSON.parse(lines) as object, {
      ...{ user_id: 'pat', roles: ['ops'], key_id: idOf(key), operation: 'streamRunOfOthers', owner_id: 'ada' },
    });
    const revokedAt = Date.now();
    t.is((await revoke(key)).code, 0);
    await following.text().catch(() => undefined);
    t.true(Date.now() - revokedAt < byLoad(5000));
    t.is(await statusOf(url, bearer(key), '/v1/admin/runs'), 401);
  },
);

test.serial('the record says by which key an answer came, whether the owner gave it or others', async (t) => {
  const service = { auth: 'jwt', access: { roles: { manager: { is: 'approver' } } } };
  const { url, make } = await serveKeys(t, 'asking-others', {}, service);
  const [own, other] = [
    await make('--user', 'ada', '--scopes', '*'),
    await make('--user', 'boris', '--scopes', 'questions', '--roles', 'manager'),
  ];
  const [ada, boris] = [createClient(url, bearer(own)), createClient(url, bearer(other))];
  const config = { thread_id: 'asked' };
  const pose = (options: object): Promise<unknown> =>
    ada.send('POST', '/v1/graph/invoke', { messages: [user(JSON.stringify(options))], config });
  const answeredBy = async (): Promise<object> => {
    const { run_id: id } = (await ada.send('GET', '/v1/threads/asked')).body.data as { run_id: string };
    await ada.send('GET', `/v1/runs/${id}/wait`);
    const { body } = await ada.send('GET', `/v1/runs/${id}`);
    return (body.data as { answered_by: readonly object[] }).answered_by[0] ?? {};
  };
  await pose({ to: ['manager'], notOwner: true });
  const { questions } = (await boris.send('GET', '/v1/questions')).body.data as {
    questions: readonly { question_id: string }[];
  };
  const reply = await boris.send('POST', `/v1/questions/${questions[0]?.question_id ?? ''}/answer`, { answer: true });
  t.is(reply.status, 200);
  t.like(await answeredBy(), { by: 'boris', client: 'v1', key: idOf(other) });
  await pose({});
  await ada.send('POST', '/v1/graph/invoke', { messages: [], resume: true, config });
  t.like(await answeredBy(), { by: 'ada', client: 'v1', key: idOf(own) });
});

test('a custom backend is never asked about a key, and its users are let in beside keys', async (t) => {
  const backend = fileURLToPath(new URL('../backends/custom.ts', import.meta.url));
  const service = { auth: { method: 'custom', path: `${backend}:ByRequest` } };
  const { url, make } = await serveKeys(t, 'who', {}, service);
  const key = await make('--user', 'ada', '--scopes', '*');
  t.is(await statusOf(url, { 'x-order': 'user bo' }), 200);
  t.is(await statusOf(url, { 'x-order': 'throw', ...bearer(key) }), 200);
  t.is(await statusOf(url, { 'x-order': 'user bo', ...bearer('awk_none') }), 401);
});

test('where API keys are off, one is no token; where nobody signs in, they cannot be on', async (t) => {
  const { url } = await serveKeys(t, 'who', { API_KEYS: 'off', JWT_SECRET_KEY: secret });
  t.is(await statusOf(url, bearer(`awk_${'0'.repeat(88)}`)), 401);
  await t.throwsAsync(openEmbedded('who', home), {
    message: 'API_KEYS is on while auth is null, which lets everyone in: set auth in service.json',
  });
});

test('the log, at its most talkative, holds no key, good or wrong', async (t) => {
  await using workspace = await makeWorkspace('who', { auth: 'jwt' });
  const env = { ...workspace.env, ...home };
  await using service = await startStandalone({ ...env, LOG_LEVEL: 'trace' });
  const key = (await keysCommand(env, 'create', '--user', 'ada', '--scopes', '*')).out.trim();
  const wrong = `${key.slice(0, -9)}${'f'.repeat(9)}`;
  for (const given of [key, wrong])
    for (const headers of [bearer(given), { 'x-api-key': given }])
      t.is(await statusOf(service.url, headers), given === key ? 200 : 401);
  t.is(await service.stop('SIGTERM'), 0);
  const all = [...service.lines, service.complaint()].join('\n');
  t.true(all.includes('API key: misspelt'));
  for (const text of [key, wrong, key.slice(20, -8)]) t.false(all.includes(text));
});

test('the command says what it lacks', async (t) => {
  await using workspace = await makeWorkspace('who', { auth: 'jwt' });
  const { code, complaint } = await keysCommand(workspace.env, 'list');
  t.is(code, 1);
  t.regex(complaint, /^there is no record in DATA_DIR .*: start the service first, or set THREADS_ADDRESS\n$/);
  t.is((await keysCommand(workspace.env, 'revoke')).code, 2);
  t.is((await keysCommand(workspace.env, 'list', 'all')).code, 2);
  t.is((await keysCommand(workspace.env)).code, 2);
});
