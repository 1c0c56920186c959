import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import Koa from 'koa';
import test, { type ExecutionContext } from 'ava';
import { bodyReader } from './body.ts';
import type { Context, RequestState } from './context.ts';
import { writeData } from './reply.ts';
import { v1 } from '../dialects/v1/dialect.ts';
import { refuse } from './errors.ts';
import { receiveFile, type IncomingFile } from './form.ts';

const MiB = 1024 * 1024;
const quick = { bytesPerSecond: 1024, windowMs: 200 };

/** The port of a server that handles each request so. */
async function open(t: ExecutionContext, handle: (ctx: Context) => Promise<string>): Promise<number> {
  const app = new Koa<RequestState>();
  app.use(async (ctx) => {
    Object.assign(ctx.state, { headers: [], requestId: 'r', dialect: v1 });
    await handle(ctx).then(
      (data) => writeData(ctx, JSON.stringify(data), 200),
      (error: unknown) => refuse(ctx, error),
    );
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const openForms = (
  t: ExecutionContext,
  take: (file: IncomingFile) => Promise<string>,
  { uploadMs = 60_000, pace = quick } = {},
): Promise<number> =>
  open(t, (ctx) => receiveFile(ctx, { maxFileBytes: 64 * MiB, uploadMs, bufferBytes: 0, pace }, take));

const openBodies = (t: ExecutionContext): Promise<number> =>
  open(t, async (ctx) => {
    await bodyReader({ maxBytes: MiB, arrival: { totalMs: 60_000, pace: quick } })(ctx);
    return 'read';
  });

const form = 'Content-Type: multipart/form-data; boundary=x';
const json = 'Content-Type: application/json';

function send(t: ExecutionContext, port: number, head: string): Socket {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${head}\r\nContent-Length: ${String(MiB)}\r\n\r\n`);
  return socket;
}

/** What comes back until the connection ends, also when it is cut while more is sent. */
async function replyOn(socket: Socket): Promise<string> {
  let reply = '';
  socket.setEncoding('utf8').on('data', (part) => (reply += String(part)));
  await once(socket, 'close').catch(() => undefined);
  return reply;
}

/** Sends these bytes again and again until the connection ends. */
function drip(socket: Socket, bytes: string | Buffer, everyMs: number): void {
  const timer = setInterval(() => void socket.write(bytes), everyMs);
  socket.once('close', () => clearInterval(timer));
}

const partHead = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

const sizeOf = async ({ bytes }: IncomingFile): Promise<string> => {
  let size = 0;
  for await (const chunk of bytes) size += chunk.byteLength;
  return String(size);
};

for (const [what, start] of [
  ['in its file', partHead],
  ['before its file', '--x\r\n'],
] as const)
  test(`an upload that arrives too slowly ${what} is refused with 408, and its connection ends`, async (t) => {
    let outcome: Promise<unknown> | undefined;
    const port = await openForms(t, (file) => {
      const taken = sizeOf(file);
      outcome = taken.catch((error: unknown) => error);
      return taken;
    });
    const socket = send(t, port, form);
    socket.write(start);
    drip(socket, 'a', 20);
    const reply = await replyOn(socket);
    t.regex(reply, /^HTTP\/1\.1 408 [^]*connection: close[^]*"code":"TIMEOUT","message":"the body arrived too slowly/i);
    t.regex(reply, /less than 1024 bytes a second over 0.2 s/);
    if (start === partHead) t.like(await outcome, { code: 'Timeout' });
    else t.is(outcome, undefined);
  });

test('an upload that takes too long in all is refused with 408', async (t) => {
  const port = await openForms(t, sizeOf, { uploadMs: 500, pace: { ...quick, windowMs: 60_000 } });
  const socket = send(t, port, form);
  socket.write(partHead);
  drip(socket, Buffer.alloc(1000), 10);
  t.regex(
    await replyOn(socket),
    /^HTTP\/1\.1 408 [^]*"code":"TIMEOUT","message":"the body did not arrive within 0.5 s"/,
  );
});

test('a body of JSON that arrives too slowly is refused with 408, and its connection ends', async (t) => {
  const socket = send(t, await openBodies(t), json);
  socket.write('{"a":"');
  drip(socket, 'a', 20);
  t.regex(await replyOn(socket), /^HTTP\/1\.1 408 [^]*connection: close[^]*the body arrived too slowly/i);
});

test('a sender is not late while its bytes wait for the store', async (t) => {
  const size = 16 * MiB;
  const port = await openForms(t, async ({ bytes }) => {
    let taken = 0;
    for await (const chunk of bytes) {
      // Five windows in which nothing is read.
      if (taken === 0) await new Promise((resolve) => setTimeout(resolve, 5 * quick.windowMs));
      taken += chunk.byteLength;
    }
    return String(taken);
  });
  const body = new FormData();
  body.append('file', new File([Buffer.alloc(size)], 'a'));
  const reply = await fetch(`http://127.0.0.1:${String(port)}`, { method: 'POST', body });
  t.like(await reply.json(), { data: String(size) });
});
