import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import Koa from 'koa';
import test, { type ExecutionContext } from 'ava';
import { leastPace } from './arrival.ts';
import { bodyReader } from './body.ts';
import type { RequestState } from './context.ts';
import { writeData } from './reply.ts';
import { v1 } from '../dialects/v1/dialect.ts';
import { refuse } from './errors.ts';

const maxBytes = 32 * 1024;

/** How a body comes: in the packet of its head, in one after it, or in two. */
const arrivals: Readonly<Record<string, (body: Buffer) => readonly Buffer[]>> = {
  'with its head': (body) => [body],
  'after its head': (body) => [Buffer.alloc(0), body],
  'in two parts': (body) => [body.subarray(0, body.length / 2), body.subarray(body.length / 2)],
};

const nested = (levels: number): string => `{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const cut = (body: Buffer): Buffer => body.subarray(0, -3);
const noUtf8 = Buffer.from('{"a\xff":1}', 'latin1');
const long = JSON.stringify({ text: 'x'.repeat(20_000) });

const bodies: readonly (readonly [what: string, body: string | Buffer, headers: string, reply: string])[] = [
  ['an object', '{"a":[1,{"b":"ä"}]}', '', '{"a":[1,{"b":"ä"}]}'],
  ['an object with space around it', ' {"a":1}\r\n', '', '{"a":1}'],
  ['an object after a byte order mark', '\ufeff{"a":1}', '', '{"a":1}'],
  ['an object with escapes', String.raw`{"a":"\u00e9\ud83d\ude00"}`, '', '{"a":"é😀"}'],
  ['bytes that are no UTF-8', noUtf8, '', 'the body is not valid UTF-8'],
  ['compressed bytes that are no UTF-8', gzipSync(noUtf8), 'Content-Encoding: gzip\r\n', 'the body is not valid UTF-8'],
  ['a cut character', Buffer.from('{"a":"ä"}').subarray(0, 7), '', 'the body is not valid UTF-8'],
  ['a long object', long, '', long],
  ['a compressed object', gzipSync('{"a":1}'), 'Content-Encoding: gzip\r\n', '{"a":1}'],
  ['a coding in capitals', gzipSync('{"a":1}'), 'Content-Encoding: GZIP\r\n', '{"a":1}'],
  ['no gzip', '{"a":1}', 'Content-Encoding: gzip\r\n', 'the body cannot be decompressed as gzip'],
  ['a cut gzip', cut(gzipSync(long)), 'Content-Encoding: gzip\r\n', 'the body cannot be decompressed as gzip'],
  ['no deflate', '{"a":1}', 'Content-Encoding: deflate\r\n', 'the body cannot be decompressed as deflate'],
  ['no br', '{"a":1}', 'Content-Encoding: br\r\n', 'the body cannot be decompressed as br'],
  ['a cut br', cut(brotliCompressSync(long)), 'Content-Encoding: br\r\n', 'the body cannot be decompressed as br'],
  ['gzip of what is no JSON', gzipSync('{"a"'), 'Content-Encoding: gzip\r\n', 'the body is not JSON'],
  ['a body of space', '  \n ', '', 'the body must be a JSON object'],
  ['no object at all', 'abc', '', 'the body must be a JSON object'],
  ['a list', '[1]', '', 'the body must be a JSON object'],
  ['a number', '5', '', 'the body must be a JSON object'],
  ['a cut object', '{"a":1', '', 'the body is not JSON'],
  ['a prototype', '{"a":{"__proto__":{}}}', '', 'the body may not hold the key "__proto__"'],
  ['an escaped prototype', String.raw`{"\u005f_proto__":1}`, '', 'the body may not hold the key "__proto__"'],
  ['128 levels', nested(127), '', nested(127)],
  ['too many levels', nested(200), '', 'the body is nested deeper than 128 levels'],
  ['a number beyond a double', '{"a":{"b":1e999}}', '', 'body.a.b: must be a number that JSON readers can hold'],
  ['too many bytes', `{"a":"${'x'.repeat(maxBytes)}"}`, '', `the body is larger than ${String(maxBytes)} bytes`],
];

for (const [how, split] of Object.entries(arrivals)) {
  test(`a body that comes ${how} is read, or refused for the same reason as any other`, async (t) => {
    const server = await open(t);
    for (const [what, body, headers, reply] of bodies) {
      const bytes = Buffer.from(body);
      const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: ${String(bytes.length)}\r\n\r\n`;
      t.is(await send(t, server, [Buffer.from(head), ...split(bytes)]), reply, what);
    }
  });
}

test('a long body with too many keys, lists or levels is refused before it is parsed', async (t) => {
  const server = await open(t, 4 * 1024 * 1024);
  for (const [item, reason] of [
    ['{"k":0}', 'the body holds more than 100000 keys'],
    ['[]', 'the body holds more than 300000 lists and objects'],
    ['[[]]', 'the body holds more than 300000 lists and objects'],
    ['['.repeat(129), 'the body is nested deeper than 128 levels'],
  ] as const) {
    // What follows is not JSON: only a reader that parses would find that.
    const body = `{"x":[${`${item},`.repeat(Math.floor(4_000_000 / (item.length + 1)))}!`;
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n`;
    t.is(await send(t, server, [Buffer.from(head), Buffer.from(body)]), reason, item);
  }
});

test('a connection whose bodies come with their heads takes one request after another', async (t) => {
  const socket = connectTo(await open(t));
  t.teardown(() => socket.destroy());
  for (const n of [1, 2, 3]) {
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"n":${String(n)}}`,
    );
    t.is(await replyOn(socket), `{"n":${String(n)}}`);
  }
});

/** A server whose replies have what was read as their data. */
async function open(t: ExecutionContext, mostBytes = maxBytes): Promise<Server> {
  const readBody = bodyReader({ maxBytes: mostBytes, arrival: { totalMs: 60_000, pace: leastPace } });
  const app = new Koa<RequestState>();
  app.use(async (ctx) => {
    Object.assign(ctx.state, { headers: [], requestId: 'r', dialect: v1 });
    await readBody(ctx).then(
      () => writeData(ctx, JSON.stringify(ctx.state.body), 200),
      (error: unknown) => refuse(ctx, error),
    );
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

const connectTo = (server: Server): Socket => connect((server.address() as AddressInfo).port, '127.0.0.1');

/** Sends the first two parts in one packet, and the others when the server has the head. */
async function send(t: ExecutionContext, server: Server, [head, first, ...rest]: readonly Buffer[]): Promise<string> {
  const socket = connectTo(server);
  t.teardown(() => socket.destroy());
  const reply = replyOn(socket);
  const begun = once(server, 'request');
  socket.write(Buffer.concat([head ?? Buffer.alloc(0), first ?? Buffer.alloc(0)]));
  await begun;
  for (const part of rest) socket.write(part);
  return reply;
}

/** The data of the next reply, or why the request was refused. */
async function replyOn(socket: Socket): Promise<string> {
  let text = '';
  for (;;) {
    const [part] = (await once(socket, 'data')) as [Buffer];
    text += part.toString();
    const at = text.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(text)?.[1];
    const body = text.slice(at + 4);
    if (at < 0 || Buffer.byteLength(body) < Number(length)) continue;
    const { data, error } = JSON.parse(body) as { data?: unknown; error?: { message: string } };
    return error?.message ?? JSON.stringify(data);
  }
}
