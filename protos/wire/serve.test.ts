import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants as http2, createServer as createHttp2Server } from 'node:http2';
import { connect as openSocket, createServer } from 'node:net';
import { Client, credentials, Metadata, status, type ServiceError as GrpcError } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { service as healthService } from 'grpc-health-check';
import { ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { never, within } from '../call.ts';
import type { Execution } from '../execution.ts';
import { exchangePath, requestsCodec } from './call-messages.ts';
import { connect } from './connect.ts';
import { openWireServer, serve } from './serve.ts';

const options: Parameters<typeof serve>[1] = { host: '127.0.0.1', port: 0, drainMs: 2000, onFailure: () => undefined };

const notUsed = (): Promise<never> => Promise.reject(new ServiceError('BadRequest', 'not used here'));

const idle: Execution = {
  start: notUsed,
  answerQuestion: notUsed,
  wait: notUsed,
  async *follow() {
    yield { events: [] };
  },
  getGraph: () => Promise.resolve({ graphJson: new Uint8Array(0), fieldsJson: new Uint8Array(0) }),
  listAgents: notUsed,
  getAgent: notUsed,
  getHealth: notUsed,
  countOpenRuns: notUsed,
  stopRun: notUsed,
  checkTools: notUsed,
  updateState: notUsed,
  deleteThread: notUsed,
};

const addressOf = ({ port }: { readonly port: number }): string => `127.0.0.1:${String(port)}`;

test('a failure that is ours is reported to the server with its cause, not to the caller', async (t) => {
  const failures: ServiceError[] = [];
  const getGraph = (): Promise<never> => Promise.reject(new Error('the inside'));
  await using server = await serve(
    { execution: { ...idle, getGraph } },
    { ...options, onFailure: (error) => failures.push(error) },
  );
  await using client = connect('execution', addressOf(server));
  await t.throwsAsync(client.getGraph({}, within(5000)), { code: 'Internal', message: /our side/ });
  t.is((failures[0]?.cause as Error).message, 'the inside');
});

test('a caller that leaves a stream which it has not read is no failure of ours', async (t) => {
  const failures: Error[] = [];
  const ended = Promise.withResolvers<undefined>();
  const event = { seq: 1, kind: 'state_chunk', at: 1, data: Buffer.alloc(1024 * 1024) } as const;
  const execution: Execution = {
    ...idle,
    async *follow() {
      try {
        for (;;) yield await Promise.resolve({ events: [event] });
      } finally {
        ended.resolve(undefined);
      }
    },
  };
  await using server = await serve({ execution }, { ...options, onFailure: (error) => failures.push(error) });
  await using client = connect('execution', addressOf(server));
  const leaving = new AbortController();
  const call = { ...within(5000), signal: leaving.signal };
  const following = client.follow({ owner: 'o', runId: 'r', after: 0 }, call)[Symbol.asyncIterator]();
  await following.next();
  leaving.abort();
  await ended.promise;
  t.is((await client.getGraph({}, within(5000))).graphJson.byteLength, 0);
  t.deepEqual(failures, []);
});

async function freePort(): Promise<number> {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  taken.close();
  return port;
}

test('a server that is not there is Unavailable, with a time to wait', async (t) => {
  await using client = connect('execution', addressOf({ port: await freePort() }));
  await t.throwsAsync(client.getGraph({}, within(5000)), {
    code: 'Unavailable',
    message: 'a needed service is unavailable',
  });
});

const causeOf = (error: Error): string => (error.cause as Error).message;

test('another service at the address is Unavailable, and its cause names the address and its setting without a stack of gRPC', async (t) => {
  await using server = await serve({ execution: idle }, options);
  await using client = connect('threads', addressOf(server));
  const request = { limit: 1 };
  const named = `what answers at ${addressOf(server)} (THREADS_ADDRESS) has no /agent_workflow.threads.v1.Threads/ListOpenRuns: it is not the threads service, or one of another version`;
  // The first is a call of its own, later ones go on the stream that it opened.
  for (let call = 0; call < 3; call++) {
    const error = await t.throwsAsync(client.listOpenRuns(request, within(5000)), { code: 'Unavailable' });
    t.is(causeOf(error), named);
  }
});

test('an answer that is late has the address and its setting in its cause', async (t) => {
  const getGraph = (): Promise<never> => new Promise(() => undefined);
  await using server = await serve({ execution: { ...idle, getGraph } }, { ...options, drainMs: 10 });
  await using client = connect('execution', addressOf(server));
  const error = await t.throwsAsync(client.getGraph({}, within(200)), { code: 'Timeout' });
  t.is(causeOf(error), `the execution service did not answer in time at ${addressOf(server)} (EXECUTION_ADDRESS)`);
});

test('a call that HTTP/2 refuses because a connection has too many is Unavailable, and made again', async (t) => {
  const server = createHttp2Server();
  let calls = 0;
  server.on('stream', (stream, { ':path': path }) => {
    if (path !== exchangePath) calls += 1;
    stream.on('error', () => undefined);
    stream.close(http2.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  await using client = connect('execution', addressOf(server.address() as { port: number }));
  await t.throwsAsync(client.getGraph({}, within(5000)), { code: 'Unavailable' });
  t.true(calls > 1);
});

// By itself: a server of another test here may get the port that is free now.
test.serial('a call that finds no connection is made at the server that is there a moment later', async (t) => {
  const port = await freePort();
  await using client = connect('execution', addressOf({ port }));
  await t.throwsAsync(client.getGraph({}, within(5000)), { code: 'Unavailable' });
  const leaving = new AbortController();
  const left = client.getGraph({}, { ...within(5000), signal: leaving.signal });
  const calling = client.getGraph({}, within(5000));
  leaving.abort();
  await t.throwsAsync(left, { code: 'Cancelled' });
  await using _server = await serve({ execution: idle }, { ...options, port });
  t.is((await calling).graphJson.byteLength, 0);
});

test('a call that a server did not begin because it is starting is made at the next, and refused when all of them are', async (t) => {
  const failures: string[] = [];
  const onFailure = ({ message }: Error): unknown => failures.push(message);
  await using starting = await openWireServer(['execution'], { ...options, onFailure });
  await using serving = await serve({ execution: idle }, options);
  await using client = connect('execution', `ipv4:${addressOf(starting)},${addressOf(serving)}`);
  for (let call = 0; call < 10; call++) t.is((await client.getGraph({}, within(5000))).graphJson.byteLength, 0);
  await using alone = connect('execution', addressOf(starting));
  await t.throwsAsync(alone.getGraph({}, within(5000)), { code: 'Unavailable', message: 'the service is starting' });
  t.deepEqual(failures, [], 'the log of a process that starts has no line for each call');
});

test('a closed client is Unavailable', async (t) => {
  await using server = await serve({ execution: idle }, options);
  const client = connect('execution', addressOf(server));
  await client[Symbol.asyncDispose]();
  await t.throwsAsync(client.getGraph({}, within(5000)), { code: 'Unavailable' });
  await t.throwsAsync(firstOf(client.follow({ owner: 'anon', runId: 'r', after: 0 }, within(5000))), {
    code: 'Unavailable',
  });
});

test('a call that is under way when the server drains gets its answer', async (t) => {
  const entered = Promise.withResolvers<undefined>();
  const release = Promise.withResolvers<undefined>();
  const getGraph: Execution['getGraph'] = async () => {
    entered.resolve(undefined);
    await release.promise;
    return { graphJson: Buffer.from('{}'), fieldsJson: Buffer.from('{}') };
  };
  const server = await serve({ execution: { ...idle, getGraph } }, options);
  await using client = connect('execution', addressOf(server));
  const answer = client.getGraph({}, within(5000));
  await entered.promise;
  const drained = server[Symbol.asyncDispose]();
  release.resolve(undefined);
  t.is((await answer).graphJson.length, 2);
  await drained;
});

test('a call that does not end is cut when the time to drain is over', async (t) => {
  const entered = Promise.withResolvers<undefined>();
  const getGraph = (): Promise<never> => {
    entered.resolve(undefined);
    return new Promise(() => undefined);
  };
  const server = await serve({ execution: { ...idle, getGraph } }, { ...options, drainMs: 50 });
  await using client = connect('execution', addressOf(server));
  const failed = t.throwsAsync(client.getGraph({}, within(5000)), { instanceOf: ServiceError });
  await entered.promise;
  await server[Symbol.asyncDispose]();
  await failed;
});

test('the health service answers for the whole and for each context', async (t) => {
  await using server = await serve({ execution: idle }, options);
  t.is(await healthOf(t, server.port, ''), 'SERVING');
  t.is(await healthOf(t, server.port, 'agent_workflow.execution.v1.Execution'), 'SERVING');
});

test('a process that waits for its store lives, is not ready, and says Unavailable to every call', async (t) => {
  await using server = await openWireServer(['execution'], options);
  await using client = connect('execution', addressOf(server));
  t.is(await healthOf(t, server.port, 'live'), 'SERVING');
  t.is(await healthOf(t, server.port, ''), 'NOT_SERVING');
  await t.throwsAsync(client.getGraph({}, within(5000)), { code: 'Unavailable' });
  await t.throwsAsync(firstOf(client.follow({ owner: 'anon', runId: 'r', after: 0 }, within(5000))), {
    code: 'Unavailable',
  });

  server.provide('execution', idle);
  t.is(await healthOf(t, server.port, ''), 'SERVING');
  t.truthy(await client.getGraph({}, within(5000)));
  t.truthy(await firstOf(client.follow({ owner: 'anon', runId: 'r', after: 0 }, within(5000))));
});

test('a message above the limit is TooLarge, and the connection goes on', async (t) => {
  await using server = await serve({ execution: idle }, options);
  await using client = connect('execution', addressOf(server));
  const stateJson = new Uint8Array(sizes.rpc + 1024);
  await t.throwsAsync(client.updateState({ owner: 'anon', threadId: 't', stateJson }, within(5000)), {
    code: 'TooLarge',
    message: /^the request has \d+ bytes, more than 33554432$/,
  });
  await t.notThrowsAsync(client.getGraph({}, within(5000)));
});

const asIs = (bytes: Buffer): Buffer => bytes;
const getGraphPath = '/agent_workflow.execution.v1.Execution/GetGraph';

/** Of a client that is not ours, and knows no bound of its own. */
function openForeign(t: ExecutionContext, server: { readonly port: number }): Client {
  const client = new Client(addressOf(server), credentials.createInsecure(), { 'grpc.max_send_message_length': -1 });
  t.teardown(() => client.close());
  return client;
}

test('a request far above the limit that a foreign client sends is refused by its size, and its connection goes on', async (t) => {
  await using server = await serve({ execution: idle }, options);
  const client = openForeign(t, server);
  const send = async (bytes: number): Promise<GrpcError | null> =>
    new Promise((resolve) => {
      const deadline = { deadline: Date.now() + 30_000 };
      client.makeUnaryRequest(getGraphPath, asIs, asIs, Buffer.alloc(bytes), new Metadata(), deadline, resolve);
    });
  const error = await send(100_000_000);
  t.is(error?.code, status.RESOURCE_EXHAUSTED, error?.details);
  t.regex(error?.details ?? '', /100000000 vs 33554432/);
  t.is(await send(0), null);
});

test('a caller that is not known is refused by its headers whatever it sends, is counted, and its connection goes on', async (t) => {
  let unknown = 0;
  const onUnknownCaller = (): void => {
    unknown += 1;
  };
  await using server = await serve({ execution: idle }, { ...options, onUnknownCaller, security: { token: 'ours' } });
  const client = openForeign(t, server);
  const send = async (token: string, bytes: number): Promise<GrpcError | null> =>
    new Promise((resolve) => {
      const metadata = new Metadata();
      metadata.set('authorization', `Bearer ${token}`);
      const deadline = { deadline: Date.now() + 30_000 };
      client.makeUnaryRequest(getGraphPath, asIs, asIs, Buffer.alloc(bytes), metadata, deadline, resolve);
    });
  const errors = await Promise.all(Array.from({ length: 5 }, async () => send('of nobody', 30_000_000)));
  t.deepEqual(new Set(errors.map((error) => error?.code)), new Set([status.UNAUTHENTICATED]));
  t.is(unknown, errors.length);
  t.is(await send('ours', 0), null);
  t.is(await healthOf(t, server.port, ''), 'SERVING');
});

test('a stream of a pool ends whose message is very large or has very many calls, that of the platform goes on', async (t) => {
  const pool = { name: 'team', agents: new Set(['default']) };
  const sha256 = createHash('sha256').update('of a pool').digest('hex');
  const pools = {
    poolOf: (shown: string) => (shown === sha256 ? pool : undefined),
    onRefused: () => undefined,
    onMisfit: () => undefined,
  };
  await using server = await serve({ execution: idle }, { ...options, security: { token: 'ours', pools } });
  const client = openForeign(t, server);
  const codeOf = async (token: string, count: number, bytes: number): Promise<status> =>
    new Promise((resolve) => {
      const metadata = new Metadata();
      metadata.set('authorization', `Bearer ${token}`);
      const stream = client.makeBidiStreamRequest(exchangePath, asIs, asIs, metadata, {
        deadline: Date.now() + 30_000,
      });
      stream.on('error', ({ code }: GrpcError) => resolve(code));
      stream.on('end', () => resolve(status.OK));
      stream.on('data', () => undefined);
      const call = { path: getGraphPath, message: Buffer.alloc(bytes), timeoutMs: 5000, context: {} };
      stream.write(requestsCodec.encode({ requests: Array.from({ length: count }, (_, id) => ({ id, ...call })) }));
      stream.end();
    });
  t.is(await codeOf('of a pool', 1, 5 * 1024 * 1024), status.RESOURCE_EXHAUSTED);
  t.is(await codeOf('of a pool', 2001, 0), status.RESOURCE_EXHAUSTED);
  t.is(await codeOf('of a pool', 10, 0), status.OK);
  t.is(await codeOf('ours', 2001, 0), status.OK);
});

test('an address that is taken refuses to serve', async (t) => {
  await using server = await serve({ execution: idle }, options);
  await t.throwsAsync(serve({ execution: idle }, { ...options, port: server.port }));
});

test('a foreign caller without a deadline is refused', async (t) => {
  await using server = await serve({ execution: idle }, options);
  const client = openForeign(t, server);
  const details = await new Promise((resolve) => {
    const none = Buffer.alloc(0);
    client.makeUnaryRequest(getGraphPath, asIs, asIs, none, new Metadata(), {}, (error) => resolve(error?.details));
  });
  t.is(details, 'a call needs a deadline');
  t.false(never.aborted);
});

async function firstOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of stream) return item;
  return undefined;
}

async function healthOf(t: ExecutionContext, port: number, name: string): Promise<string | undefined> {
  const client = new Client(addressOf({ port }), credentials.createInsecure());
  t.teardown(() => client.close());
  const { Check } = healthService;
  if (!Check) throw new Error('the health service has no Check');
  const { path, requestSerialize, responseDeserialize } = Check;
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { service: name },
      new Metadata(),
      {},
      (_error, reply) => resolve((reply as { status?: string } | undefined)?.status),
    );
  });
}

test('the health is served at a port of its own to every caller, and nothing else is', async (t) => {
  const server = await openWireServer(['execution'], { ...options, security: { token: 'shown' }, healthPort: 0 });
  const port = server.healthPort ?? 0;
  t.not(port, server.port);
  t.deepEqual([await healthOf(t, port, 'live'), await healthOf(t, port, '')], ['SERVING', 'NOT_SERVING']);
  server.provide('execution', idle);
  t.is(await healthOf(t, port, ''), 'SERVING');
  await using client = connect('execution', addressOf({ port }), { token: 'shown' });
  await t.throwsAsync(client.getGraph({}, within(5000)));
  await using known = connect('execution', addressOf(server), { token: 'shown' });
  t.truthy(await known.getGraph({}, within(5000)));
  await server[Symbol.asyncDispose]();
  t.is(await healthOf(t, port, 'live'), undefined);
});

test('a server keeps 500 connections at most on which nobody that is known has called, and so does its port for health checks', async (t) => {
  const security = { token: 'right' };
  await using server = await serve({ execution: idle }, { ...options, security, healthPort: 0 });
  await using client = connect('execution', addressOf(server), security);
  await client.getGraph({}, within(5000));
  for (const port of [server.port, server.healthPort ?? 0]) {
    const sockets = Array.from({ length: 501 }, () => openSocket({ port, host: '127.0.0.1' }));
    t.teardown(() => sockets.forEach((socket) => socket.destroy()));
    await Promise.race(sockets.map(async (socket) => once(socket.resume(), 'close')));
    t.is(sockets.filter(({ closed }) => closed).length, 1);
  }
  t.is((await client.getGraph({}, within(5000))).graphJson.byteLength, 0);
});
