import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '@agent-workflow/kit/ids';
import test, { type ExecutionContext } from 'ava';
import WebSocket from 'ws';
import { openEmbedded, type Embedded } from '../../servers/embedded.ts';
import { agentAt, testedAgent } from '../../servers/standalone.ts';
import { audience, goodClaims, inSeconds, issuer, makeToken } from '../../servers/tokens.ts';
import { serveLangGraph } from './service.ts';

const service = serveLangGraph(test, {}, { typing: agentAt('typing') });
const words = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');
const order = (content: string) => ({ input: { messages: [{ role: 'user', content }] } });

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const page = 'https://app.example';
let secured: Embedded | undefined;
test.before(async () => {
  const env = {
    ...{ JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret, JWT_ISSUER: issuer, JWT_AUDIENCE: audience },
    ...{ DIALECTS: 'langgraph', CORS_ORIGINS: page, MAX_STREAMS_PER_PRINCIPAL: '2', JWT_EXP_TOLERANCE_SECONDS: '0' },
  };
  secured = await openEmbedded('obedient', env, { auth: 'jwt' });
});
test.after.always(() => secured?.[Symbol.asyncDispose]());

const tokenOf = (sub: string, more: Readonly<Record<string, unknown>> = {}): string =>
  makeToken('HS256', secret, { claims: goodClaims({ user_id: sub, ...more }) });
const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

interface Received {
  readonly type: string;
  readonly id?: number | null;
  readonly event_id?: string;
  readonly method?: string;
  readonly error?: string;
  readonly result?: { readonly subscription_id?: string; readonly run_id?: string };
  readonly params?: { readonly data: { readonly event?: string } };
}

/** A connection with what it has received. */
interface Connected {
  readonly socket: WebSocket;
  readonly received: Received[];
  readonly closed: Promise<number>;
  readonly send: (method: string, params?: object) => Promise<Received>;
  readonly until: (isSo: (one: Received) => boolean) => Promise<Received>;
}

let commands = 0;

function connect(base: string, path: string, headers: Readonly<Record<string, string>> = {}): Connected {
  const socket = new WebSocket(`${base.replace('http', 'ws')}${path}`, { headers });
  const received: Received[] = [];
  socket.on('message', (data: Buffer) => {
    received.push(JSON.parse(data.toString()) as Received);
  });
  socket.on('error', () => undefined);
  const until = async (isSo: (one: Received) => boolean): Promise<Received> => {
    const end = Date.now() + 15_000;
    while (Date.now() < end) {
      const found = received.find(isSo);
      if (found) return found;
      await delay(10);
    }
    throw new Error(`not received: ${JSON.stringify(received).slice(0, 500)}`);
  };
  return {
    socket,
    received,
    closed: once(socket, 'close').then(([code]) => code as number),
    until,
    send: async (method, params = {}) => {
      const id = ++commands;
      socket.send(JSON.stringify({ id, method, params }));
      return until((one) => one.id === id);
    },
  };
}

/** The status with which a connection is refused. */
async function refusedWith(path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const { socket } = connect(secured?.url ?? '', path, headers);
  const [, reply] = (await once(socket, 'unexpected-response')) as [
    unknown,
    { statusCode: number; resume: () => void },
  ];
  reply.resume();
  return reply.statusCode;
}

const pathOf = (threadId: string): string => `/langgraph/threads/${threadId}/stream/events`;
const isEnd = ({ method, params }: Received): boolean =>
  method === 'lifecycle' && ['completed', 'failed', 'interrupted'].includes(params?.data.event ?? '');

test("LangGraph's client streams a run over a WebSocket, with its messages and tools", async (t) => {
  const thread = service.client().threads.stream({ assistantId: 'typing', transport: 'websocket' });
  const texts: string[] = [];
  const reading = (async () => {
    for await (const message of thread.messages) texts.push(await message.text);
  })();
  const names = new Set<string>();
  const calling = (async () => {
    for await (const call of thread.toolCalls) names.add(`${call.name} ${String(await call.output)}`);
  })();
  await thread.run.start(order('what time is it'));
  const output = (await thread.output) as { readonly messages: readonly unknown[] };
  await Promise.all([reading, calling]);
  t.deepEqual(texts, ['', words]);
  t.deepEqual([...names], ['clock noon']);
  t.is(output.messages.length, 4);
  await thread.close();
});

test("LangGraph's client answers a question over WebSockets that break, and loses nothing", async (t) => {
  let cuts = 0;
  const breaking = (url: string): globalThis.WebSocket => {
    const socket = new globalThis.WebSocket(url);
    let count = 0;
    socket.addEventListener('message', () => {
      count += 1;
      if (count < 25 || cuts >= 5) return;
      cuts += 1;
      socket.close();
    });
    return socket;
  };
  const thread = service.client().threads.stream({
    ...{ assistantId: 'typing', transport: 'websocket', webSocketFactory: breaking },
    ...{ reconnectDelayMs: () => 10, maxReconnectAttempts: 20 },
  });
  const deltas = new Map<string, string>();
  const ends: unknown[] = [];
  thread.onEvent(({ method, params }) => {
    const data = params.data as { event?: string; run_id?: string; delta?: { text?: string } };
    const { run_id: message = '', delta } = data;
    if (method === 'messages' && delta) deltas.set(message, `${deltas.get(message) ?? ''}${delta.text ?? ''}`);
    if (method === 'lifecycle') ends.push(data.event);
  });
  await thread.run.start(order('are you sure'));
  await thread.subscribe(['messages', 'lifecycle', 'input']);
  while (!thread.interrupted || thread.interrupts.length === 0) await delay(20);
  const [asked] = thread.interrupts;
  if (!asked) throw new Error('nothing is asked');
  await thread.input.respond({ namespace: asked.namespace, interrupt_id: asked.interruptId, response: 'yes' });
  while (ends.at(-1) !== 'completed') await delay(20);
  await thread.close();
  t.true(cuts > 1, String(cuts));
  t.deepEqual([...deltas.values()], [words, 'you said yes'], 'nothing lost, nothing twice');
  t.deepEqual(ends, ['running', 'interrupted', 'running', 'completed']);
});

test('several subscriptions get each event together, and a later one what was before', async (t) => {
  const id = newId();
  const { received, send, until, socket } = connect(service.url().replace('/langgraph', ''), pathOf(id));
  await once(socket, 'open');
  const first = await send('subscription.subscribe', { channels: ['messages', 'lifecycle'] });
  await send('subscription.subscribe', { channels: ['lifecycle', 'input'] });
  await send('run.start', { assistant_id: 'agent', ...order('hello') });
  await until(isEnd);
  await delay(300);
  const events = received.filter(({ type }) => type === 'event');
  t.is(new Set(events.map(({ event_id: own }) => own)).size, events.length, 'each came once');
  await send('subscription.subscribe', { channels: ['messages', 'lifecycle'] });
  await delay(500);
  const after = received.filter(({ type }) => type === 'event').slice(events.length);
  t.deepEqual(
    after.map(({ event_id: own }) => own),
    events.filter(({ method }) => method !== 'input.requested').map(({ event_id: own }) => own),
  );
  t.is((await send('subscription.unsubscribe', { subscription_id: first.result?.subscription_id })).type, 'success');
  const again = await send('subscription.unsubscribe', { subscription_id: first.result?.subscription_id });
  t.is(again.error, 'no_such_subscription');
  t.is((await send('no.such')).error, 'unknown_command');
  t.is((await send('subscription.subscribe', { channels: ['everything'] })).error, 'invalid_argument');
  socket.send('no json');
  t.is((await until(({ type, id: none }) => type === 'error' && none === null)).error, 'invalid_argument');
  socket.close();
});

test('a frame that is too large, or no text, closes the connection', async (t) => {
  const base = service.url().replace('/langgraph', '');
  const large = connect(base, pathOf(newId()));
  await once(large.socket, 'open');
  large.socket.send('x'.repeat(4 * 1024 * 1024 + 1));
  t.is(await large.closed, 1009);
  const binary = connect(base, pathOf(newId()));
  await once(binary.socket, 'open');
  binary.socket.send(Buffer.from('{}'), { binary: true });
  t.is(await binary.closed, 1003);
});

test('a connection passes what any request passes', async (t) => {
  const path = pathOf(newId());
  t.is(await refusedWith(path), 401);
  t.is(await refusedWith(path, bearer('x')), 401);
  t.is(await refusedWith(path, bearer(tokenOf('alice', { exp: inSeconds(-60) }))), 401);
  t.is(await refusedWith(`${path}?ticket=x`), 401);
  t.is(await refusedWith(path, { ...bearer(tokenOf('alice')), origin: 'https://evil.example' }), 403);
  t.is(await refusedWith(`${path}/more`, bearer(tokenOf('alice'))), 404);
  const plain = await fetch(`${secured?.url ?? ''}${path}`, { headers: bearer(tokenOf('alice')) });
  t.is(plain.status, 422);
  const listed = connect(secured?.url ?? '', path, { ...bearer(tokenOf('alice')), origin: page });
  await once(listed.socket, 'open');
  listed.socket.close();
});

const ticketFor = async (sub: string, threadId: string, more: object = {}): Promise<string> => {
  const reply = await fetch(`${secured?.url ?? ''}/langgraph/threads/${threadId}/ticket`, {
    method: 'POST',
    headers: bearer(tokenOf(sub, more as never)),
  });
  return ((await reply.json()) as { readonly ticket: string }).ticket;
};

/** Opens a connection and subscribes to everything. */
async function opened(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Connected> {
  const made = connect(secured?.url ?? '', path, headers);
  await once(made.socket, 'open');
  await made.send('subscription.subscribe', { channels: ['values', 'lifecycle'] });
  return made;
}

test('a ticket opens the connection of its thread, and of no other', async (t) => {
  const id = newId();
  const ticket = await ticketFor('bob', id);
  const own = await opened(`${pathOf(id)}?ticket=${ticket}`, { origin: page });
  await own.send('run.start', { assistant_id: testedAgent, ...order('hello') });
  t.is((await own.until(isEnd)).params?.data.event, 'completed');
  t.is(await refusedWith(`${pathOf(newId())}?ticket=${ticket}`), 401);
  const run = own.received.find(({ result }) => result?.run_id)?.result?.run_id ?? '';
  const stolen = await fetch(`${secured?.url ?? ''}/v1/runs/${run}/stream?ticket=${ticket}`);
  t.is(stolen.status, 401);
  own.socket.close();
});

test("another user's thread is as absent as any", async (t) => {
  const id = newId();
  const own = await opened(pathOf(id), bearer(tokenOf('carol')));
  await own.send('run.start', { assistant_id: testedAgent, ...order('cabbage') });
  await own.until(isEnd);
  const foreign = await opened(pathOf(id), bearer(tokenOf('mallory')));
  await delay(500);
  t.is(foreign.received.filter(({ type }) => type === 'event').length, 0);
  t.false(JSON.stringify(foreign.received).includes('cabbage'));
  t.is((await foreign.send('input.respond', { interrupt_id: 'x', response: 1 })).error, 'no_such_interrupt');
  foreign.socket.close();
  own.socket.close();
});

test('a connection counts as a stream, and ends with its token', async (t) => {
  const headers = (): Readonly<Record<string, string>> => bearer(tokenOf('dan', { exp: inSeconds(3) }));
  const path = pathOf(newId());
  const both = [await opened(path, headers()), await opened(path, headers())];
  t.is(await refusedWith(path, headers()), 429);
  const codes = await Promise.all(both.map(({ closed }) => closed));
  t.deepEqual(codes, [1008, 1008]);
  await delay(100);
  const next = await opened(path, bearer(tokenOf('dan')));
  next.socket.close();
  await next.closed;
  const ticket = await ticketFor('dan', 'a-thread', { exp: inSeconds(2) });
  const byTicket = connect(secured?.url ?? '', `${pathOf('a-thread')}?ticket=${ticket}`);
  t.is(await byTicket.closed, 1008);
});

test('connections are closed when the process drains, and clients connect again', async (t: ExecutionContext) => {
  const own = await openEmbedded('obedient', { DIALECTS: 'langgraph' });
  const made = connect(own.url, pathOf(newId()));
  await once(made.socket, 'open');
  const started = performance.now();
  await own[Symbol.asyncDispose]();
  t.is(await made.closed, 1012);
  t.true(performance.now() - started < 5000);
});

/** Sends the request for a WebSocket by itself, and keeps its end open. @returns the status */
async function upgradeByHand(
  base: string,
  { key, headers = {} }: { readonly key: string; readonly headers?: Readonly<Record<string, string>> },
): Promise<number> {
  const { host, hostname, port } = new URL(base);
  const socket = connectTcp({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => undefined);
  const all = {
    ...{ host, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key },
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${pathOf(newId())} HTTP/1.1\r\n${lines.join('')}\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  return Number(head.toString().split(' ')[1]);
}

test('a refused connection is closed, also where its caller keeps its end, and a drain waits for none', async (t) => {
  const env = { DIALECTS: 'langgraph', JWT_SECRET_KEY: secret, DRAIN_SECONDS: '1' };
  const own = await openEmbedded('obedient', env, { auth: 'jwt' });
  t.is(await upgradeByHand(own.url, { key: 'dGhlIHNhbXBsZSBub25jZQ==' }), 401);
  const isDrained = own[Symbol.asyncDispose]().then(() => true);
  t.true(await Promise.race([isDrained, delay(6000, false)]));
});

test('a request for a WebSocket that is none of the protocol holds no stream', async (t) => {
  const headers = bearer(tokenOf('erin'));
  for (let count = 0; count < 3; count += 1)
    t.is(await upgradeByHand(secured?.url ?? '', { key: 'none', headers }), 400, String(count));
  await delay(100);
  const { socket } = await opened(pathOf(newId()), headers);
  socket.close();
});

test('a text is no larger than a body, and a connection has few subscriptions', async (t) => {
  await using own = await openEmbedded('obedient', { DIALECTS: 'langgraph', MAX_BODY_BYTES: '65536' });
  const made = connect(own.url, pathOf(newId()));
  await once(made.socket, 'open');
  const replies = await Promise.all(
    Array.from({ length: 9 }, () => made.send('subscription.subscribe', { channels: ['values'] })),
  );
  t.deepEqual(
    replies.map(({ error }) => error),
    [...Array<undefined>(8).fill(undefined), 'invalid_argument'],
  );
  made.socket.send('x'.repeat(65_537));
  t.is(await made.closed, 1009);
});

test('the stream of the events of a thread ends with the token of its reader', async (t) => {
  const response = await fetch(`${secured?.url ?? ''}${pathOf(newId())}`, {
    method: 'POST',
    headers: { ...bearer(tokenOf('fay', { exp: inSeconds(2) })), 'content-type': 'application/json' },
    body: JSON.stringify({ channels: ['values'] }),
  });
  t.is(response.status, 200);
  const isCut = response.text().catch(() => 'cut');
  t.is(await Promise.race([isCut, delay(6000, 'open')]), 'cut');
});
