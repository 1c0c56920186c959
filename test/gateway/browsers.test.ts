import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import test, { type ExecutionContext } from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { user } from '../servers/client.ts';

const page = 'https://app.example.com';

async function open(
  t: ExecutionContext,
  env: Readonly<Record<string, string>>,
  auth: 'jwt' | null = null,
): Promise<string> {
  const always = { HOST: '127.0.0.1', JWT_SECRET_KEY: 's'.repeat(32), MAX_BODY_BYTES: '2048' };
  const service = await openEmbedded('echo', { ...always, ...env }, { auth });
  t.teardown(() => service[Symbol.asyncDispose]());
  return service.url;
}

const preflight = (url: string, origin: string): Promise<Response> =>
  fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type',
    },
  });

function isSafe(t: ExecutionContext, headers: Headers, what: string): void {
  t.like(
    Object.fromEntries(headers),
    {
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    },
    what,
  );
  t.regex(headers.get('cache-control') ?? '', /^no-store(, no-transform)?$/, what);
  t.truthy(headers.get('x-request-id'), what);
  for (const banner of ['server', 'x-powered-by']) t.false(headers.has(banner), what);
}

test('every reply has the headers that keep a browser from harm, and no banner', async (t) => {
  const url = await open(t, { CORS_ORIGINS: page });
  const json = { 'content-type': 'application/json' };
  const requests: [string, RequestInit][] = [
    ...endpoints.map(({ method, path }): [string, RequestInit] => [path.replaceAll(/\{\w+\}/g, 'x'), { method }]),
    ['/v1/graph/invoke', { method: 'POST', headers: json, body: JSON.stringify({ messages: [user('x')] }) }],
    ['/v1/graph/stream', { method: 'POST', headers: json, body: JSON.stringify({ messages: [user('x')] }) }],
    ['/v1/graph/invoke', { method: 'POST', headers: json, body: '{' }],
    ['/v1/graph/invoke', { method: 'POST', headers: json, body: ' '.repeat(4096) }],
    ['/v1/graph/invoke', { method: 'POST', body: 'text' }],
    ['/v1/ping', { method: 'PATCH' }],
    ['/v1/ping', { method: 'HEAD' }],
    ['/nothing', {}],
    ['/v1/threads/%', {}],
    [`/v1/threads?search=${'x'.repeat(9000)}`, {}],
  ];
  for (const [path, init] of requests) {
    const reply = await fetch(`${url}${path}`, init);
    await reply.arrayBuffer();
    isSafe(t, reply.headers, `${init.method ?? 'GET'} ${path} ${String(reply.status)}`);
  }
  isSafe(t, (await preflight(`${url}/v1/ping`, page)).headers, 'preflight');
});

test('what is not HTTP, or hardly, is answered with them too', async (t) => {
  const url = await open(t, {});
  for (const [sent, status] of [
    ['nonsense\r\n\r\n', 400],
    ['GET /v1/ping HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['GET /v1/ping HTTP/1.0\r\n\r\n', 200],
    ['GET /v1/ping HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n', 200],
    ['CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    [`GET / HTTP/1.1\r\nHost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.end(sent);
    const reply = await text(socket);
    t.true(reply.startsWith(`HTTP/1.1 ${String(status)} `), reply);
    if (status !== 200) t.regex(reply, /\r\n\r\n\{"error":\{"code":"/);
    for (const line of [
      'X-Content-Type-Options: nosniff',
      "Content-Security-Policy: default-src 'none'",
      'Cache-Control: no-store',
    ])
      t.true(reply.includes(`\r\n${line}`), line);
  }
});

test('Strict-Transport-Security is sent when the operator says for how long', async (t) => {
  const without = await fetch(`${await open(t, {})}/v1/ping`);
  t.is(without.headers.get('strict-transport-security'), null);
  const reply = await fetch(`${await open(t, { HSTS_SECONDS: '31536000' })}/v1/ping`);
  t.is(reply.headers.get('strict-transport-security'), 'max-age=31536000');
});

test('a page of a listed origin may call: its preflight needs no credentials and names exactly what may be sent', async (t) => {
  const url = await open(t, { CORS_ORIGINS: `https://other.example.com, ${page}`, CORS_CREDENTIALS: 'true' }, 'jwt');
  const { status, headers } = await preflight(`${url}/v1/graph/invoke`, page);
  t.is(status, 204);
  t.is(headers.get('access-control-allow-origin'), page);
  t.is(headers.get('access-control-allow-credentials'), 'true');
  t.is(headers.get('access-control-allow-methods'), 'GET,POST,PUT,PATCH,DELETE');
  t.is(
    headers.get('access-control-allow-headers'),
    'Authorization,Content-Encoding,Content-Type,Idempotency-Key,If-None-Match,If-Range,Last-Event-ID,Range,X-Request-Id,traceparent',
  );
  t.is(headers.get('access-control-max-age'), '600');
  t.is(headers.get('vary'), 'Origin');

  const refused = await fetch(`${url}/v1/ping`, { headers: { origin: page } });
  t.is(refused.status, 401);
  t.is(refused.headers.get('access-control-allow-origin'), page, 'the page may read why');
  t.regex(
    refused.headers.get('access-control-expose-headers') ?? '',
    /^Content-Disposition,Content-Range,ETag,.*X-Request-Id/,
  );
  t.is(refused.headers.get('vary'), 'Origin');
});

test('a page may send the further headers that the operator lists, as for a custom authentication', async (t) => {
  const url = await open(t, { CORS_ORIGINS: page, CORS_HEADERS: 'X-Api-Key, x-badge' });
  const { headers } = await preflight(`${url}/v1/ping`, page);
  t.regex(headers.get('access-control-allow-headers') ?? '', /^Authorization,.*,traceparent,X-Api-Key,x-badge$/);
});

test('a page of another origin gets no word of permission', async (t) => {
  const url = await open(t, { CORS_ORIGINS: page, CORS_CREDENTIALS: 'true' });
  const lookalikes = [
    'https://evil.example',
    'https://app.example.com.evil.example',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://APP.example.com',
    'https://app.example.com/',
    'https://sub.app.example.com',
    'null',
    '*',
  ];
  for (const origin of lookalikes) {
    const asked = await preflight(`${url}/v1/graph/invoke`, origin);
    t.is(asked.status, 405, origin);
    const reply = await fetch(`${url}/v1/ping`, { headers: { origin } });
    for (const { headers } of [asked, reply]) {
      for (const name of headers.keys()) t.false(name.startsWith('access-control-'), `${origin}: ${name}`);
      t.is(headers.get('vary'), 'Origin');
    }
  }
});

test('all origins may be let in, without credentials', async (t) => {
  const url = await open(t, { CORS_ORIGINS: '*' });
  for (const reply of [
    await preflight(`${url}/v1/ping`, page),
    await fetch(`${url}/v1/ping`, { headers: { origin: page } }),
  ]) {
    t.is(reply.headers.get('access-control-allow-origin'), '*');
    t.is(reply.headers.get('access-control-allow-credentials'), null);
  }
});

test('streams may be read by pages, too', async (t) => {
  const url = await open(t, { CORS_ORIGINS: page });
  const { headers, body } = await fetch(`${url}/v1/graph/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: page },
    body: JSON.stringify({ messages: [user('x')] }),
  });
  await body?.cancel();
  t.is(headers.get('access-control-allow-origin'), page);
  t.is(headers.get('cache-control'), 'no-store, no-transform');
});

test('unless origins are listed, no page may call', async (t) => {
  const url = await open(t, {});
  for (const reply of [
    await preflight(`${url}/v1/ping`, page),
    await fetch(`${url}/v1/ping`, { headers: { origin: page } }),
  ])
    for (const name of reply.headers.keys()) t.false(name.startsWith('access-control-'), name);
});

test('a page of another origin changes nothing where nobody authenticates', async (t) => {
  const url = await open(t, { CORS_ORIGINS: page });
  const { host } = new URL(url);
  const send = async (method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> => {
    // `fetch` sends no `Sec-Fetch-Site` of its caller.
    const asked = request(`${url}${path}`, { method, headers }).end();
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    const body = await text(reply);
    if (reply.statusCode === 403) t.regex(body, /"PERMISSION_DENIED".*a page of another origin/s);
    return reply.statusCode ?? 0;
  };
  const evil = 'https://evil.example';
  const foreign = [
    { 'sec-fetch-site': 'cross-site', origin: evil },
    { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site, same-origin' },
    { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
    { origin: evil },
    { origin: 'null' },
    { origin: `http://${host}.evil.example` },
  ];
  const changes = [
    ['POST', '/v1/agents/pay/revisions/r1/retire'],
    ['POST', '/v1/runs/x/cancel'],
    ['PUT', '/v1/store/memories/x'],
    ['DELETE', '/v1/threads/x'],
    ['POST', '/nothing'],
  ] as const;
  for (const headers of foreign) {
    for (const [method, path] of changes) t.is(await send(method, path, headers), 403, JSON.stringify(headers));
    t.is(
      await send('GET', '/v1/threads', headers),
      200,
      'what only reads is as before: browsers keep the reply from it',
    );
  }
  const ours = [
    {},
    { 'sec-fetch-site': 'same-origin', origin: `http://${host}` },
    { 'sec-fetch-site': 'none' },
    { origin: `http://${host}` },
    { origin: `https://${host}` },
    { 'sec-fetch-site': 'cross-site', origin: page },
  ];
  for (const headers of ours) t.is(await send('DELETE', '/v1/threads/nobody', headers), 404, JSON.stringify(headers));
});

/** The status of a request whose `Host` is this. */
async function statusFor(t: ExecutionContext, url: string, host: string, path = '/v1/threads'): Promise<number> {
  const asked = request(`${url}${path}`, { headers: { host } }).end();
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  const body = await text(reply);
  if (reply.statusCode === 403) t.regex(body, /"PERMISSION_DENIED".*ALLOWED_HOSTS/s);
  return reply.statusCode ?? 0;
}

test('where nobody authenticates on this machine, a name that a page can have is no name of the gateway', async (t) => {
  const url = await open(t, {});
  const { port } = new URL(url);
  const foreign = [
    'evil.example',
    `evil.example:${port}`,
    'EVIL.example',
    'evil.example.',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '[::1].evil.example',
    'evil.example:80.internal',
    'evil.example/.localhost',
    'evil%2eexample',
    'evil@localhost',
  ];
  for (const host of foreign)
    for (const path of ['/v1/threads', '/v1/store/memories', '/playground', '/metrics-of-nobody'])
      t.is(await statusFor(t, url, host, path), 403, `${host} ${path}`);
  const own = [
    'localhost',
    `localhost:${port}`,
    'LOCALHOST',
    '127.0.0.1',
    `[::1]:${port}`,
    '[::ffff:127.0.0.1]',
    'agents.localhost',
    'host.docker.internal',
    'service',
  ];
  for (const host of own) t.is(await statusFor(t, url, host), 200, host);
});

/** The status of these request lines, sent as they are. */
async function statusOfLines(url: string, ...lines: readonly string[]): Promise<number> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  return Number((await text(socket)).slice(9, 12));
}

test('two Host headers are 400, in whatever order and on every path', async (t) => {
  for (const auth of [null, 'jwt'] as const) {
    const url = await open(t, { CORS_ORIGINS: page }, auth);
    for (const hosts of [
      ['localhost', 'evil.example'],
      ['evil.example', 'localhost'],
      ['localhost', 'localhost'],
    ])
      for (const target of ['/v1/threads', '/healthz', '/playground', '/nothing', 'http://localhost/v1/threads'])
        for (const first of [`GET ${target} HTTP/1.1`, `GET ${target} HTTP/1.0`, `OPTIONS ${target} HTTP/1.1`]) {
          const lines = [first, `Origin: ${page}`, 'Access-Control-Request-Method: POST'];
          t.is(
            await statusOfLines(url, ...lines, ...hosts.map((host) => `Host: ${host}`)),
            400,
            `${first} ${String(hosts)}`,
          );
        }
  }
});

test('a target that is a whole address counts by its own name', async (t) => {
  const url = await open(t, {});
  const statusOf = (target: string, host: string): Promise<number> =>
    statusOfLines(url, `GET ${target} HTTP/1.1`, `Host: ${host}`);
  for (const target of [
    'http://evil.example/v1/threads',
    'HTTP://EVIL.example:80/v1/threads',
    'https://evil.example/v1/threads',
    'http://localhost@evil.example/v1/threads',
    'http://localhost:80@evil.example:80/v1/threads',
    'http://evil.example?/v1/threads',
    'ftp://evil.example/v1/threads',
    'http:///v1/threads',
    'http://@/v1/threads',
    'http://evil.example@localhost/v1/threads',
  ])
    t.true([400, 403].includes(await statusOf(target, 'localhost')), target);
  t.is(await statusOf('http://evil.example/v1/threads', 'localhost'), 403);
  t.is(await statusOf('http://localhost/v1/threads', 'localhost'), 200);
  t.is(await statusOf('http://localhost/v1/threads', 'evil.example'), 200);
  t.is(await statusOfLines(url, 'GET http://localhost/v1/threads HTTP/1.1'), 400, 'Host is needed all the same');
  const change = (target: string, origin: string): Promise<number> =>
    statusOfLines(url, `DELETE ${target} HTTP/1.1`, 'Host: service', `Origin: ${origin}`);
  t.is(await change('http://localhost/v1/threads/nobody', 'http://service'), 403);
  t.is(await change('http://localhost/v1/threads/nobody', 'http://localhost'), 404);
  const closed = await open(t, { ALLOWED_HOSTS: 'agents.example.com' }, 'jwt');
  const first = 'GET http://evil.example/v1/threads HTTP/1.1';
  t.is(await statusOfLines(closed, first, 'Host: agents.example.com'), 403);
});

test('names that the operator lists are names of the gateway, and `*` is every name', async (t) => {
  const listed = await open(t, { ALLOWED_HOSTS: 'agents.example.com, Other.example.com' });
  for (const host of ['agents.example.com', 'AGENTS.example.com:8000', 'other.example.com', 'localhost'])
    t.is(await statusFor(t, listed, host), 200, host);
  t.is(await statusFor(t, listed, 'evil.example'), 403);
  t.is(await statusFor(t, await open(t, { ALLOWED_HOSTS: '*' }), 'evil.example'), 200);
});

test('where callers authenticate the name matters only when names are listed', async (t) => {
  t.is(await statusFor(t, await open(t, {}, 'jwt'), 'agents.example.com'), 401);
  t.is(await statusFor(t, await open(t, { ALLOWED_HOSTS: 'agents.example.com' }, 'jwt'), 'evil.example'), 403);
});

test('where all origins may call, and where callers authenticate, the origin of a change does not matter', async (t) => {
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  for (const [env, auth, status] of [
    [{ CORS_ORIGINS: '*' }, null, 404],
    [{}, 'jwt', 401],
  ] as const) {
    const asked = request(`${await open(t, env, auth)}/v1/threads/nobody`, { method: 'DELETE', headers }).end();
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    reply.resume();
    t.is(reply.statusCode, status);
  }
});
