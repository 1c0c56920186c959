import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { roundBytes, rounds } from '../agents/flood.ts';
import { byLoad } from '../by-load.ts';
import { createClient, user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { startWatched, type Holdings, type Watched } from '../servers/watched.ts';

/** While others misuse the service, whoever behaves is answered in this time on a machine that does nothing else, in milliseconds. */
const servedMs = 5000;
const mebibyte = 1024 * 1024;

test.serial('a thousand requests that are never finished hold nobody up, and are cut', async (t) => {
  await using service = await startWatched('echo');
  await isServed(t, service);
  const before = await service.holdings();
  const heads = ['GET /v1/ping HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'POST /v1/graph/invoke HTTP/1.1\r\n', 'G', ''];
  const sockets = await Promise.all(
    Array.from({ length: 1000 }, (_, index) => opened(service, heads[index % 4] ?? '')),
  );
  const drip = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('a');
  }, 500);
  t.teardown(() => {
    clearInterval(drip);
  });
  const ends = sockets.map((socket) => text(socket).catch(() => ''));
  await isServed(t, service);
  const during = await service.holdings();
  t.log(before, during);
  t.true(during.heapBytes - before.heapBytes < 32 * mebibyte, 'a request that is not there yet weighs little');

  while (sockets.some(({ readableEnded, destroyed }) => !readableEnded && !destroyed)) await isServed(t, service);
  const results = await Promise.all(ends);
  t.true(results.filter((end) => end.startsWith('HTTP/1.1 408 ')).length >= 250);
  for (const end of results) t.regex(end, /^(HTTP\/1\.1 (408|400) [^]*"code":"(TIMEOUT|BAD_REQUEST)"|$)/);
  await quiet(service);
});

test.serial('bodies that never end hold nobody up', async (t) => {
  await using service = await startWatched('echo');
  const head = 'POST /v1/graph/invoke HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const starts = [
    `${head}Content-Length: 100000\r\n\r\n{"messages":[`,
    `${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{"\r\n`,
  ];
  const sockets = await Promise.all(
    Array.from({ length: 500 }, (_, index) => opened(service, starts[index % 2] ?? '')),
  );
  await isServed(t, service);
  const { heapBytes } = await service.holdings();
  t.true(heapBytes < 96 * mebibyte, String(heapBytes));
  for (const socket of sockets) socket.destroy();
  await quiet(service);
  await isServed(t, service);
});

test.serial('clients that never read their stream hold up no run and fill no memory', async (t) => {
  await using service = await startWatched('flood', { HOT_STATE_MB: '1' });
  const { send } = createClient(service.url);
  await isServed(t, service);
  const before = await service.holdings();
  const threads = Array.from({ length: 8 }, (_, index) => `never-read-${String(index)}`);
  const sockets = await Promise.all(threads.map((thread) => openStream(service, { thread_id: thread })));
  await Promise.all(
    threads.map(async (thread) => {
      // While a run is under way nobody else writes to its thread.
      const add = { messages: [user('is it over?')] };
      while ((await send('POST', `/v1/threads/${thread}/messages`, add)).status === 409) continue;
    }),
  );
  await isServed(t, service);
  const during = await service.holdings();
  t.log(`${String((threads.length * rounds * roundBytes) / mebibyte)} MiB streamed to nobody`, before, during);
  t.is(during.replies, threads.length, 'every stream is still open');
  t.true(during.heapBytes - before.heapBytes < 64 * mebibyte);
  for (const socket of sockets) socket.destroy();
  await quiet(service);
  t.true(service.isAlive());
});

test.serial('a thousand clients that vanish in the middle of their streams leave nothing behind', async (t) => {
  await using gate = await openGate();
  await using service = await startWatched('gated', { MAX_STREAMS_PER_PRINCIPAL: '0' });
  const { send } = createClient(service.url);
  await isServed(t, service);
  const before = await service.holdings();
  const waves = 10;
  for (let wave = 0; wave < waves; wave++) {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => openStream(service, { gate: gate.url })));
    const served = isServed(t, service);
    for (const [index, socket] of sockets.entries()) {
      if (index % 2 === 0) socket.destroy();
      else socket.resetAndDestroy();
    }
    await served;
  }
  const left = await quiet(service);
  t.log(before, left);
  t.true(left.heapBytes - before.heapBytes < 32 * mebibyte);

  gate.open();
  await gate.visited(1000);
  const turn = { messages: [user('and now?')], config: { gate: gate.url } };
  t.is((await send('POST', '/v1/graph/invoke', turn)).status, 200);
  await quiet(service, before.calls);
  t.true(service.isAlive());
});

async function opened(service: Watched, start: string): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (start !== '') socket.write(start);
  return socket;
}

/** Starts a run as a stream, and stops reading with its first bytes. */
async function openStream(service: Watched, config: Readonly<Record<string, string>>): Promise<Socket> {
  const body = JSON.stringify({ messages: [user('go')], config });
  const head = `POST /v1/graph/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n`;
  const socket = await opened(service, head + body);
  await once(socket, 'data');
  socket.pause();
  return socket;
}

/** Somebody who behaves is answered, and soon. */
async function isServed(t: ExecutionContext, { url }: Watched): Promise<void> {
  const { send } = createClient(url);
  const begin = performance.now();
  t.is((await send('GET', '/v1/ping')).status, 200);
  t.is((await send('GET', '/v1/threads?limit=1')).status, 200);
  const ms = performance.now() - begin;
  t.true(ms < byLoad(servedMs), `answered after ${String(ms)} ms`);
}

/** What is held once no reply is open and, where asked for, nothing is called or followed. */
async function quiet(service: Watched, calls = Infinity): Promise<Holdings> {
  for (;;) {
    const holdings = await service.holdings();
    if (holdings.replies === 0 && holdings.calls <= calls) return holdings;
  }
}
