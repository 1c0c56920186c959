import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLog } from '@agent-workflow/kit/log';
import test from 'ava';
import Koa from 'koa';
import type { App } from './app.ts';
import type { RequestState } from './http/context.ts';
import { endStreams } from './replies/events.ts';
import { openServer } from './server.ts';

const silentLog = createLog('test', 'silent');

const open = (app: App, graceSeconds: number, host = '127.0.0.1'): ReturnType<typeof openServer> =>
  openServer({
    app,
    host,
    config: { PORT: 0, DRAIN_SECONDS: graceSeconds, FILES_UPLOAD_SECONDS: 900 },
    log: silentLog,
  });

test('people open a server on all addresses at localhost, and any other at its own address', async (t) => {
  for (const [host, local] of [
    ['0.0.0.0', 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
  ] as const) {
    await using server = await open(new Koa<RequestState>(), 0, host);
    t.is(server.url, `http://${host}:${String(server.port)}`);
    t.is(server.localUrl, `http://${local}:${String(server.port)}`);
  }
});

test('a request under way finishes while the server drains, and a new one is not taken', async (t) => {
  const arrived = Promise.withResolvers<undefined>();
  const mayFinish = Promise.withResolvers<undefined>();
  const app: App = new Koa<RequestState>();
  app.use(async (ctx) => {
    arrived.resolve(undefined);
    await mayFinish.promise;
    ctx.body = 'done';
  });
  const server = await open(app, 10);
  const answer = fetch(server.url);
  await arrived.promise;
  const drained = server[Symbol.asyncDispose]();
  await t.throwsAsync(fetch(server.url));
  mayFinish.resolve(undefined);
  t.is(await (await answer).text(), 'done');
  await drained;
});

test('a stream that is left is told to end, and ends whole', async (t) => {
  const app: App = new Koa<RequestState>();
  app.use((ctx) => {
    ctx.respond = false;
    ctx.res.write('first\n');
    ctx.app.once(endStreams, () => ctx.res.end('last\n'));
  });
  const server = await open(app, 0);
  const outgoing = request(server.url).end();
  const [response] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
  const content = text(response);
  await server[Symbol.asyncDispose]();
  t.is(await content, 'first\nlast\n');
});

test('what never ends is cut, so that the process can', async (t) => {
  const app: App = new Koa<RequestState>();
  app.use((ctx) => {
    ctx.respond = false;
    ctx.res.write('first\n');
  });
  const server = await open(app, 0);
  const outgoing = request(server.url).end();
  const [response] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
  const content = text(response);
  await server[Symbol.asyncDispose]();
  await t.throwsAsync(content);
});

test('what is not HTTP is refused in the words of every other refusal', async (t) => {
  const server = await open(new Koa<RequestState>(), 0);
  t.teardown(() => server[Symbol.asyncDispose]());
  const answerTo = (bytes: string): Promise<string> => text(connect(server.port, '127.0.0.1').end(bytes));
  t.regex(await answerTo('HELLO\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request\r\n[^]*"code":"BAD_REQUEST"/);
  t.regex(
    await answerTo('CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'),
    /^HTTP\/1\.1 405 [^]*"code":"METHOD_NOT_ALLOWED"/,
  );
  const long = `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`;
  t.regex(await answerTo(long), /^HTTP\/1\.1 431 [^]*"code":"PAYLOAD_TOO_LARGE"/);
});

test('a port that is taken is an error', async (t) => {
  const app: App = new Koa<RequestState>();
  const first = await open(app, 0);
  t.teardown(() => first[Symbol.asyncDispose]());
  const again = openServer({
    app,
    host: '127.0.0.1',
    config: { PORT: first.port, DRAIN_SECONDS: 0, FILES_UPLOAD_SECONDS: 900 },
    log: silentLog,
  });
  await t.throwsAsync(again, { code: 'EADDRINUSE' });
});
