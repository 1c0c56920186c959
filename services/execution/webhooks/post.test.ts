import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import { PostFailure } from './connections.ts';
import { createPoster, type PostReply } from './post.ts';
import { createMayReach } from './reachable.ts';

interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly got: string[];
  /** How many connections were made to it. */
  readonly connections: () => number;
  /** Ends the connections that nobody uses. */
  readonly closeIdle: () => void;
}

async function receive(answer: RequestListener): Promise<Receiver> {
  const got: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      got.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers.host ?? ''} ${body}`);
      answer(request, response);
    });
  });
  let connections = 0;
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    got,
    connections: () => connections,
    closeIdle: () => server.closeIdleConnections(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const nobody = createMayReach([]);
const loopback = createMayReach([{ address: '127.0.0.0', bits: 8 }]);
const message = { headers: { 'content-type': 'application/json' }, body: '{"a":"ä"}' };

async function send(url: string, mayReach = loopback, signal = AbortSignal.timeout(60_000)): Promise<PostReply> {
  using poster = createPoster(mayReach);
  return await poster.post({ url, ...message, signal });
}

test('a body is sent once to its address, and the status of the reply read', async (t) => {
  await using receiver = await receive((_, response) => response.writeHead(204).end());
  const host = `127.0.0.1:${String(receiver.port)}`;
  t.deepEqual(await send(`http://${host}/a?b=c`), { status: 204, verdict: 'taken' });
  t.deepEqual(receiver.got, [`POST /a?b=c ${host} {"a":"ä"}`]);
});

test('an address of the inside gets no byte, by whatever spelling or name it comes', async (t) => {
  await using receiver = await receive((_, response) => response.end());
  const hosts = [
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f.1',
    '017700000001',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
  ];
  for (const host of hosts) {
    const error = await t.throwsAsync(send(`http://${host}:${String(receiver.port)}/`, nobody), {
      instanceOf: PostFailure,
    });
    t.is(error.message, 'the address is not one of the public internet', host);
  }
  t.deepEqual(receiver.got, []);
});

test('an address that passes at the lookup and not on the socket gets no byte', async (t) => {
  await using receiver = await receive((_, response) => response.end());
  let asked = 0;
  const onlyFirst = (): boolean => asked++ === 0;
  await t.throwsAsync(send(`http://127.0.0.1:${String(receiver.port)}/`, onlyFirst), { instanceOf: PostFailure });
  t.is(asked, 2);
  t.deepEqual(receiver.got, []);
});

test('a redirect is a reply like any other', async (t) => {
  await using other = await receive((_, response) => response.end());
  await using receiver = await receive((_, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${String(other.port)}/` }).end(),
  );
  t.deepEqual(await send(`http://127.0.0.1:${String(receiver.port)}/`), { status: 302, verdict: 'refused' });
  t.deepEqual(other.got, []);
});

test('no proxy of the environment is used', async (t) => {
  await using proxy = await receive((_, response) => response.end());
  await using receiver = await receive((_, response) => response.end());
  const before = { ...process.env };
  const address = `http://127.0.0.1:${String(proxy.port)}`;
  Object.assign(process.env, { HTTP_PROXY: address, http_proxy: address, NODE_USE_ENV_PROXY: '1' });
  try {
    t.like(await send(`http://127.0.0.1:${String(receiver.port)}/`), { status: 200 });
  } finally {
    process.env = before;
  }
  t.deepEqual([proxy.got.length, receiver.got.length], [0, 1]);
});

test('a receiver that hangs, before its reply or in it, is left when the time is over', async (t) => {
  await using silent = await receive(() => undefined);
  const error = await t.throwsAsync(
    send(`http://127.0.0.1:${String(silent.port)}/`, loopback, AbortSignal.timeout(100)),
  );
  t.is(error.message, 'it took too long');
  await using slow = await receive((_, response) => response.writeHead(200).write('a'));
  t.deepEqual(await send(`http://127.0.0.1:${String(slow.port)}/`, loopback, AbortSignal.timeout(3000)), {
    status: 200,
    verdict: 'taken',
  });
});

interface RawReceiver extends AsyncDisposable {
  readonly url: string;
  /** The first connection, once it is there. */
  readonly first: Promise<Socket>;
}

/** Writes this to each connection once its request begins, and then reads no more of it. */
async function replyRaw(reply: string): Promise<RawReceiver> {
  const { promise: first, resolve } = Promise.withResolvers<Socket>();
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.pause();
      socket.write(reply);
    });
    resolve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`,
    first,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a receiver that wants another protocol has refused, and its connection is ended', async (t) => {
  await using receiver = await replyRaw(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n',
  );
  t.deepEqual(await send(receiver.url, loopback, AbortSignal.timeout(5000)), { status: 101, verdict: 'refused' });
  const socket = (await receiver.first).resume();
  if (!socket.closed) await once(socket, 'close');
  t.pass();
});

test('a receiver that replies and never reads keeps no connection', async (t) => {
  await using receiver = await replyRaw('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  using poster = createPoster(loopback);
  const body = 'x'.repeat(32 * 1024 * 1024);
  t.like(await poster.post({ url: receiver.url, headers: {}, body, signal: inTime() }), { status: 200 });
  const socket = await receiver.first;
  let bytes = 0;
  socket.on('data', (chunk) => (bytes += chunk.length)).resume();
  if (!socket.closed) await once(socket, 'close');
  t.true(bytes < body.length / 2);
});

test('an attempt ends with its time also while its connection is being made, and none begins after it', async (t) => {
  await using receiver = await replyRaw('');
  const url = receiver.url.replace('http:', 'https:');
  using poster = createPoster(loopback);
  const began = performance.now();
  const late = await t.throwsAsync(poster.post({ url, ...message, signal: AbortSignal.timeout(200) }));
  t.is(late.message, 'it took too long');
  t.true(performance.now() - began < 5000);
  const aborted = await t.throwsAsync(poster.post({ url, ...message, signal: AbortSignal.abort() }));
  t.is(aborted.message, 'it took too long');
});

test('of a reply without end so much is read and no more', async (t) => {
  let written = 0;
  await using receiver = await receive((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16 * 1024))) written += 16 * 1024;
    };
    response.on('drain', more);
    response.on('error', () => undefined);
    more();
  });
  t.deepEqual(await send(`http://127.0.0.1:${String(receiver.port)}/`), { status: 200, verdict: 'taken' });
  t.true(written < 32 * 1024 * 1024);
});

test('the wait that a reply asks for is read', async (t) => {
  await using receiver = await receive((_, response) => response.writeHead(503, { 'retry-after': '7' }).end());
  t.deepEqual(await send(`http://127.0.0.1:${String(receiver.port)}/`), {
    status: 503,
    verdict: 'refused',
    retryAfterMs: 7000,
  });
});

test('a refused connection, and a protocol that is not spoken, are failures with a reason', async (t) => {
  const receiver = await receive((_, response) => response.end());
  const { port } = receiver;
  const wrong = await t.throwsAsync(send(`https://127.0.0.1:${String(port)}/`), { instanceOf: PostFailure });
  t.regex(wrong.message, /^[A-Z0-9_]+$/);
  await receiver[Symbol.asyncDispose]();
  const gone = await t.throwsAsync(send(`http://127.0.0.1:${String(port)}/`), { instanceOf: PostFailure });
  t.is(gone.message, 'ECONNREFUSED');
});

const inTime = (): AbortSignal => AbortSignal.timeout(60_000);

test('a connection is used again, and a new one made where the receiver has closed it', async (t) => {
  await using receiver = await receive((_, response) => response.writeHead(204).end());
  using poster = createPoster(loopback);
  const url = `http://127.0.0.1:${String(receiver.port)}/`;
  for (let times = 0; times < 3; times++) t.is((await poster.post({ url, ...message, signal: inTime() })).status, 204);
  t.is(receiver.connections(), 1);
  receiver.closeIdle();
  t.is((await poster.post({ url, ...message, signal: inTime() })).status, 204);
  t.deepEqual([receiver.connections(), receiver.got.length], [2, 4]);
});

test('a connection that breaks before the reply fails the attempt where it is new, and is replaced where it was kept', async (t) => {
  let count = 0;
  await using receiver = await receive((request, response) => {
    count += 1;
    if (count === 2 || request.url === '/broken') response.destroy();
    else response.writeHead(204).end();
  });
  using poster = createPoster(loopback);
  const url = `http://127.0.0.1:${String(receiver.port)}/`;
  t.is((await poster.post({ url, ...message, signal: inTime() })).status, 204);
  t.is((await poster.post({ url, ...message, signal: inTime() })).status, 204);
  t.is(receiver.got.length, 3);
  const error = await t.throwsAsync(poster.post({ url: `${url}broken`, ...message, signal: inTime() }));
  t.is(error.message, 'ECONNRESET');
});

test('each new connection is checked, also to a host to which one was kept', async (t) => {
  await using receiver = await receive((_, response) => response.writeHead(204).end());
  let isOpen = true;
  using poster = createPoster((address) => isOpen && loopback(address));
  const url = `http://127.0.0.1:${String(receiver.port)}/`;
  t.is((await poster.post({ url, ...message, signal: inTime() })).status, 204);
  isOpen = false;
  receiver.closeIdle();
  const error = await t.throwsAsync(poster.post({ url, ...message, signal: inTime() }), { instanceOf: PostFailure });
  t.is(error.message, 'the address is not one of the public internet');
  t.is(receiver.got.length, 1);
});

test('requests that are under way when the sender is disposed of end', async (t) => {
  const { promise: arrived, resolve } = Promise.withResolvers<undefined>();
  await using receiver = await receive(() => resolve(undefined));
  const poster = createPoster(loopback);
  const url = `http://127.0.0.1:${String(receiver.port)}/`;
  const sent = t.throwsAsync(poster.post({ url, ...message, signal: inTime() }), { instanceOf: PostFailure });
  await arrived;
  poster[Symbol.dispose]();
  await sent;
});
