import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client, type Reply, type Sent } from '../servers/client.ts';
import { embeddedOnly, oneByOne, openShape } from './shape.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { until } from '../until.ts';

const declare = oneByOne(test);

const secret = 's'.repeat(32);
const as = (userId: string): Sent => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: userId } })}`,
});
const badToken: Sent = {
  authorization: `Bearer ${makeToken('HS256', 'x'.repeat(32), { claims: { user_id: 'eve' } })}`,
};

async function open(
  t: ExecutionContext,
  env: Sent,
  agent = 'echo',
  auth: 'jwt' | null = 'jwt',
): Promise<Client & { readonly url: string }> {
  const always = { HOST: '127.0.0.1', JWT_SECRET_KEY: secret, RATE_LIMIT_WINDOW_SECONDS: '3600' };
  const opened = await openShape(agent, { ...always, ...env }, { auth });
  t.teardown(() => opened[Symbol.asyncDispose]());
  return { url: opened.url, ...createClient(opened.url) };
}

/** Sends the head and a part of an invoke's body; `finish` sends the rest and gives the status of the reply. */
function beginBody(url: string, name: string, bytes: number): { readonly finish: () => Promise<number> } {
  const body = Buffer.from(JSON.stringify({ messages: [user('x'.repeat(bytes))] }));
  const headers = { 'content-type': 'application/json', 'content-length': String(body.byteLength), ...as(name) };
  const sent = request(`${url}/v1/graph/invoke`, { method: 'POST', headers });
  const status = once(sent, 'response').then(([reply]) => {
    (reply as IncomingMessage).resume();
    return (reply as IncomingMessage).statusCode ?? 0;
  });
  sent.write(body.subarray(0, 1000));
  return {
    finish: async () => {
      sent.end(body.subarray(1000));
      return status;
    },
  };
}

const codeIn = ({ body }: Reply): string => (body.error as { readonly code: string }).code;

function isRefused(t: ExecutionContext, reply: Reply): void {
  t.deepEqual([reply.status, codeIn(reply)], [429, 'RATE_LIMITED']);
  const seconds = Number(reply.headers.get('retry-after'));
  t.true(Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600, String(seconds));
}

// Each gateway counts for itself, and a connection that is begun may come to either.
embeddedOnly(
  test,
  'bodies beyond the bytes that may be held at once are 503, one caller has at most half of them, and they count while they come in',
  async (t) => {
    const { send, url } = await open(t, { IN_FLIGHT_MB: '1' });
    const add = (name: string, bytes: number): Promise<Reply> =>
      send('POST', '/v1/graph/invoke', { messages: [user('x'.repeat(bytes))] }, as(name));
    const isFull = (reply: Reply): void => {
      t.deepEqual([reply.status, codeIn(reply)], [503, 'SERVICE_UNAVAILABLE']);
      t.truthy(reply.headers.get('retry-after'));
    };
    const first = [beginBody(url, 'ada', 400_000), beginBody(url, 'bob', 400_000)];
    await until(async () => (await add('eve', 400_000)).status === 503);
    isFull(await add('eve', 400_000));
    isFull(await add('ada', 200_000));
    t.is((await send('GET', '/v1/threads', undefined, as('ada'))).status, 200);
    for (const { finish } of first) t.is(await finish(), 200);
    t.is((await add('ada', 400_000)).status, 200);
  },
);

for (const path of ['/v1/graph/invoke', '/v1/graph/stream']) {
  declare(`a body counts no longer once its run is accepted, however long the caller waits: ${path}`, async (t) => {
    await using gate = await openGate();
    const { url } = await open(t, { IN_FLIGHT_MB: '1' }, 'gated');
    const body = JSON.stringify({ messages: [user('x'.repeat(120_000))], config: { gate: gate.url } });
    const replies: Promise<Response>[] = [];
    for (const key of [undefined, 'one', 'two', undefined, 'three']) {
      const headers = { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }), ...as('ada') };
      const begun = gate.visited(replies.length + 1);
      // A run may begin before the gateway knows that it is accepted: until then the body before counts.
      await until(async () => {
        const reply = fetch(`${url}${path}`, { method: 'POST', headers, body });
        const head = await Promise.race([begun, reply]);
        if (head?.status === 503) {
          t.regex(await head.text(), /bound on the bytes of requests and replies/);
          return false;
        }
        if (head) t.is(head.status, 200);
        replies.push(reply);
        return true;
      });
      await begun;
    }
    gate.open();
    for (const reply of await Promise.all(replies)) {
      t.is(reply.status, 200);
      await reply.arrayBuffer();
    }
  });
}

declare('a body of unknown length counts for what it came to once it is read', async (t) => {
  await using gate = await openGate();
  const { url } = await open(t, { IN_FLIGHT_MB: '4' }, 'gated');
  const json = JSON.stringify({ messages: [user('x'.repeat(10_000))], config: { gate: gate.url } });
  const bodies = { identity: Buffer.from(json), gzip: gzipSync(json) };
  const replies: Promise<Response>[] = [];
  for (const [encoding, bytes] of Object.entries(bodies)) {
    for (let sent = 0; sent < 4; sent++) {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding, ...as('ada') };
      const body = new Blob([new Uint8Array(bytes)]).stream();
      replies.push(fetch(`${url}/v1/graph/invoke`, { method: 'POST', headers, body, duplex: 'half' }));
      await Promise.race([gate.visited(replies.length), replies.at(-1)]);
    }
  }
  gate.open();
  for (const reply of await Promise.all(replies)) t.is(reply.status, 200);
});

declare('a principal beyond its rate is 429 and told when to come back; others are served', async (t) => {
  const { send } = await open(t, { RATE_LIMIT_REQUESTS: '3' });
  for (const left of [2, 1, 0]) {
    const { status, headers } = await send('GET', '/v1/threads', undefined, as('ada'));
    t.is(status, 200);
    t.is(headers.get('ratelimit-limit'), '3');
    t.is(headers.get('ratelimit-remaining'), String(left));
    t.true(Number(headers.get('ratelimit-reset')) >= (3 - left) * 1199);
  }
  const refused = await send('GET', '/v1/threads', undefined, as('ada'));
  isRefused(t, refused);
  t.is(refused.headers.get('ratelimit-remaining'), '0');
  t.is((await send('GET', '/v1/threads', undefined, as('bob'))).status, 200);
});

declare('whatever is asked counts, known or not, except the probes of the process', async (t) => {
  const { send } = await open(t, { RATE_LIMIT_REQUESTS: '2' });
  t.is((await send('GET', '/v1/nothing', undefined, as('ada'))).status, 404);
  t.is((await send('DELETE', '/v1/ping', undefined, as('ada'))).status, 405);
  isRefused(t, await send('GET', '/v1/ping', undefined, as('ada')));
  for (let probe = 0; probe < 10; probe++)
    for (const path of ['/healthz', '/readyz', '/openapi.json']) t.is((await send('GET', path)).status, 200, path);
});

declare('anonymous callers are told apart by the address that the trusted proxies saw', async (t) => {
  const { send } = await open(t, { RATE_LIMIT_REQUESTS: '1', TRUST_PROXY_HOPS: '1' }, 'echo', null);
  const from = (address: string): Promise<Reply> => send('GET', '/v1/ping', undefined, { 'x-forwarded-for': address });
  t.is((await from('203.0.113.1')).status, 200);
  isRefused(t, await from('203.0.113.1'));
  isRefused(t, await from('203.0.113.77, 203.0.113.1'));
  t.is((await from('203.0.113.2')).status, 200);
});

declare('without trusted proxies nobody is somebody else by a header', async (t) => {
  const { send } = await open(t, { RATE_LIMIT_REQUESTS: '1' }, 'echo', null);
  t.is((await send('GET', '/v1/ping')).status, 200);
  isRefused(t, await send('GET', '/v1/ping', undefined, { 'x-forwarded-for': '203.0.113.5' }));
});

declare('where nobody signs in there is no rate unless it is set, and where callers do there is one', async (t) => {
  const anonymous = await open(t, {}, 'echo', null);
  t.is((await anonymous.send('GET', '/v1/ping')).headers.get('ratelimit-limit'), null);
  const signedIn = await open(t, {});
  t.is((await signedIn.send('GET', '/v1/ping', undefined, as('ada'))).headers.get('ratelimit-limit'), '6000');
});

declare(
  'an address that fails to sign in too often is not heard, not even with a good token, and others are',
  async (t) => {
    const { send } = await open(t, { RATE_LIMIT_AUTH_FAILURES: '3', TRUST_PROXY_HOPS: '1' });
    const from = (address: string, token: Sent): Promise<Reply> =>
      send('GET', '/v1/ping', undefined, { ...token, 'x-forwarded-for': address });
    for (let good = 0; good < 5; good++) t.is((await from('203.0.113.1', as('ada'))).status, 200);
    for (const token of [badToken, {}, badToken]) t.is((await from('203.0.113.1', token)).status, 401);
    isRefused(t, await from('203.0.113.1', badToken));
    isRefused(t, await from('203.0.113.1', as('ada')));
    t.is((await from('203.0.113.2', as('ada'))).status, 200);
    t.is((await send('GET', '/healthz', undefined, { 'x-forwarded-for': '203.0.113.1' })).status, 200);
  },
);

declare('streams beyond the bound are 429, and one that ends or loses its reader makes room', async (t) => {
  await using gate = await openGate();
  const client = await open(t, { MAX_STREAMS_PER_PRINCIPAL: '2' }, 'gated');
  const body = { messages: [user('go')], config: { gate: gate.url } };
  const begin = async (owner: string): Promise<AsyncGenerator> => {
    const stream = client.stream(body, as(owner));
    await stream.next();
    return stream;
  };
  const refused = (): Promise<Reply> => client.send('POST', '/v1/graph/stream', body, as('ada'));

  const first = await begin('ada');
  const second = await begin('ada');
  isRefused(t, await refused());
  const bobs = await begin('bob');
  t.is((await client.send('GET', '/v1/ping', undefined, as('ada'))).status, 200);

  await first.return(undefined);
  const third = await untilOpen(() => begin('ada'));
  isRefused(t, await refused());

  gate.open();
  for (const stream of [second, third, bobs]) while (!(await stream.next()).done);
  await (await untilOpen(() => begin('ada'))).return(undefined);
});

declare('a stream that is refused for another reason holds no place', async (t) => {
  const client = await open(t, { MAX_STREAMS_PER_PRINCIPAL: '1' }, 'obedient');
  for (let time = 0; time < 3; time++) {
    const reply = await client.send('POST', '/v1/graph/stream', { messages: [] }, as('ada'));
    t.is(reply.status, 422);
    const taken = { messages: [user('go')], tools: [{ name: 'a', node_name: 'nowhere' }] };
    t.is((await client.send('POST', '/v1/graph/stream', taken, as('ada'))).status, 422);
  }
});

declare(
  'while as many runs wait as may, more are 503 with Retry-After, and taken again when there is room',
  async (t) => {
    await using gate = await openGate();
    const client = await open(t, { RUN_CONCURRENCY: '1', RUN_BACKLOG: '2' }, 'gated');
    const body = { messages: [user('go')], config: { gate: gate.url } };
    const stream = openStream(client, body);
    await gate.visited(1);
    const accept = (): Promise<Reply> => client.send('POST', '/v1/runs', body, as('bob'));
    const reply = await untilStatus(503, accept);
    t.is(codeIn(reply), 'SERVICE_UNAVAILABLE');
    t.true(Number(reply.headers.get('retry-after')) >= 1);
    gate.open();
    t.is(await stream, 'on_chain_end');
    await untilStatus(202, accept);
  },
);

declare('counts beyond their bound are 422 and named', async (t) => {
  const { send } = await open(t, {}, 'echo', null);
  const many = (count: number, item: unknown): unknown[] => Array.from({ length: count }, () => item);
  const cases: readonly [body: Record<string, unknown>, loc: unknown][] = [
    [{ messages: many(1001, user('x')) }, ['body', 'messages']],
    [
      { messages: [{ role: 'user', content: many(1001, { type: 'text', text: 'x' }) }] },
      ['body', 'messages', 0, 'content'],
    ],
    [{ messages: [{ ...user('x'), tools_calls: many(1001, {}) }] }, ['body', 'messages', 0, 'tools_calls']],
    [{ messages: [user('x')], tools: many(257, { name: 'x' }) }, ['body', 'tools']],
  ];
  for (const [body, loc] of cases) {
    const reply = await send('POST', '/v1/graph/invoke', body);
    t.is(reply.status, 422);
    t.deepEqual((reply.body.error as { details: { loc: unknown }[] }).details[0]?.loc, loc);
  }
  const most = { messages: many(1000, { role: 'user', content: many(2, { type: 'text', text: 'x' }) }) };
  t.is((await send('POST', '/v1/graph/invoke', most)).status, 200);
});

declare('an address that is too long is 414', async (t) => {
  const { send } = await open(t, {}, 'echo', null);
  const reply = await send('GET', `/v1/threads?search=${'x'.repeat(9000)}`);
  t.deepEqual([reply.status, codeIn(reply)], [414, 'PAYLOAD_TOO_LARGE']);
});

embeddedOnly(
  test,
  'all origins with credentials stop the start, and so do what is no origin, no header and no host name',
  async (t) => {
    await using workspace = await makeWorkspace('echo');
    const start = (env: Sent): Promise<unknown> => startStandalone({ ...workspace.env, ...env });
    await t.throwsAsync(start({ CORS_ORIGINS: '*', CORS_CREDENTIALS: 'true' }), {
      message: 'exit code 1: CORS_CREDENTIALS must be false while CORS_ORIGINS is *',
    });
    for (const origins of [
      'app.example.com',
      'https://app.example.com/',
      'null',
      'https://*.example.com',
      '*,https://a.example',
    ])
      await t.throwsAsync(start({ CORS_ORIGINS: origins }), { message: /CORS_ORIGINS must be/ }, origins);
    for (const names of ['x key', 'x:y', '*', ','])
      await t.throwsAsync(start({ CORS_HEADERS: names }), { message: /CORS_HEADERS must be/ }, names);
    for (const names of [
      'agents.example.com:8000',
      'https://agents.example.com',
      '*.example.com',
      '*,a.example',
      'a.example.',
      ',',
    ])
      await t.throwsAsync(start({ ALLOWED_HOSTS: names }), { message: /ALLOWED_HOSTS must be/ }, names);
  },
);

/** Streams a run to its end. @returns the kind of its last event. */
async function openStream(client: Client, body: unknown): Promise<string> {
  let last = '';
  for await (const { event } of client.stream(body, as('ada'))) last = event;
  return last;
}

/** Asks until there is room: the server learns a moment later that a reader has gone. */
async function untilOpen(begin: () => Promise<AsyncGenerator>): Promise<AsyncGenerator> {
  for (;;) {
    try {
      return await begin();
    } catch (error) {
      if (!String(error).includes('429')) throw error;
    }
  }
}

async function untilStatus(status: number, request: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await request();
    if (reply.status === status) return reply;
  }
}
