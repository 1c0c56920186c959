import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { Metadata, Server, ServerCredentials, status, type UntypedHandleCall } from '@grpc/grpc-js';
import { fromUnknown } from '@agent-workflow/kit/errors';
import test, { type ExecutionContext } from 'ava';
import { createArrivals } from './arrivals.ts';
import { asBytes } from './call-messages.ts';
import { createConnections } from './connections.ts';
import { toStatus } from './status.ts';

const paths = { call: '/test.Echo/Call', exchange: '/test.Echo/Exchange', check: '/test.Echo/Check' };
const platform = 'the token of the platform';

interface Ground {
  readonly open: () => Promise<ClientHttp2Session>;
  readonly limited: readonly string[];
}

type Bounds = Parameters<typeof createConnections>[0]['bounds'];

/** A server that answers calls; streams, and calls that everyone may make, it leaves open. */
async function openGround(
  t: ExecutionContext,
  { streamMs = 60_000, ...given }: Partial<Bounds> & { readonly streamMs?: number },
): Promise<Ground> {
  const limited: string[] = [];
  const onLimited = ({ pool, bound, most }: { readonly pool: string; readonly bound: string; readonly most: number }) =>
    void limited.push(`${pool} ${bound} ${String(most)}`);
  const usual = { unknown: 100, unknownMs: 60_000, openCalls: 100, ofPool: 100, callsOfPool: 100, streamsOfPool: 100 };
  const connections = createConnections({ bounds: { ...usual, ...given }, onLimited });
  const arrivals = createArrivals({
    callerOf: (metadata) => () => {
      const [token = ''] = metadata.get('authorization').map(String);
      if (token === platform) return 'platform';
      return token === '' ? undefined : { name: token, agents: new Set() };
    },
    isOpen: (called) => called === paths.check,
    refusal: { code: status.UNAUTHENTICATED, details: 'not known', metadata: new Metadata() },
    onUnknownCaller: () => undefined,
    limiting: { bounds: { bytes: 1e6, calls: 100, callsPerSecond: 1000 }, onLimited },
    refuse: (error) => {
      const { code, details } = toStatus(fromUnknown(error));
      return { code, details, metadata: new Metadata() };
    },
    ...{ arrivalMs: 60_000, streamMs, connections, replies: undefined },
  });
  const server = new Server({ interceptors: [arrivals] });
  const codec = { requestSerialize: asBytes, requestDeserialize: asBytes };
  const rest = { ...codec, responseSerialize: asBytes, responseDeserialize: asBytes };
  const unary = { requestStream: false, responseStream: false, ...rest };
  const leaveOpen: UntypedHandleCall = () => undefined;
  server.addService(
    {
      call: { path: paths.call, ...unary },
      check: { path: paths.check, ...unary },
      exchange: { path: paths.exchange, requestStream: true, responseStream: true, ...rest },
    },
    {
      call: (_call: unknown, answer: (error: null, reply: Buffer) => void) => answer(null, Buffer.alloc(1)),
      ...{ check: leaveOpen, exchange: leaveOpen },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  connections.watch(server);
  const sessions: ClientHttp2Session[] = [];
  t.teardown(() => {
    for (const session of sessions) session.destroy();
    server.forceShutdown();
  });
  return {
    limited,
    open: async () => {
      const session = connect(`http://127.0.0.1:${String(port)}`);
      sessions.push(session);
      session.on('error', () => undefined);
      await once(session, 'remoteSettings');
      return session;
    },
  };
}

interface Sent {
  readonly stream: ClientHttp2Stream;
  /** The status that the server ended the call with. */
  readonly code: Promise<number>;
}

const ok: number = status.OK;
const message = Buffer.from([0, 0, 0, 0, 1, 7]);

/** Makes a call with a token, or without one. */
function send(session: ClientHttp2Session, path: string, token?: string): Sent {
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request({ ...headers, ...(token && { authorization: token }) });
  const { promise, resolve } = Promise.withResolvers<number>();
  const see = (found: Readonly<Record<string, unknown>>): void => {
    if (found['grpc-status'] !== undefined) resolve(Number(found['grpc-status']));
  };
  stream
    .on('response', see)
    .on('trailers', see)
    .on('error', () => undefined)
    .resume();
  if (path === paths.exchange) stream.write(message);
  else stream.end(message);
  return { stream, code: promise };
}

const call = async (session: ClientHttp2Session, token?: string): Promise<number> =>
  send(session, paths.call, token).code;

/** The call has arrived: the server has answered a ping after it. */
const arrived = async (session: ClientHttp2Session): Promise<void> =>
  new Promise((resolve, reject) => {
    session.ping((error) => (error ? reject(error) : resolve()));
  });

test('of too many connections on which no known caller has called the oldest is closed', async (t) => {
  const { open } = await openGround(t, { unknown: 2 });
  const [ours, ofPool] = [await open(), await open()];
  t.deepEqual([await call(ours, platform), await call(ofPool, 'team')], [status.OK, status.OK]);
  const oldest = await open();
  t.is(await call(oldest, undefined), status.UNAUTHENTICATED);
  const closed = once(oldest, 'close');
  const others = [await open(), await open()];
  await closed;
  t.deepEqual(await Promise.all([ours, ...others].map(async (each) => call(each, platform))), Array(3).fill(status.OK));
  t.is(await call(ofPool, 'team'), status.OK);
});

test('a connection without a known caller is closed after some time, and one with stays', async (t) => {
  const { open } = await openGround(t, { unknownMs: 100 });
  const ours = await open();
  t.is(await call(ours, platform), status.OK);
  const silent = await open();
  await once(silent, 'close');
  t.is(await call(ours, platform), status.OK);
});

test('connections of a pool beyond its bound are refused and closed, and the end of one makes room', async (t) => {
  const { open, limited } = await openGround(t, { ofPool: 1 });
  const first = await open();
  t.is(await call(first, 'team'), status.OK);
  const second = await open();
  const closed = once(second, 'close');
  t.is(await call(second, 'team'), status.RESOURCE_EXHAUSTED);
  await closed;
  t.deepEqual(limited, ['team connections 1']);
  t.is(await call(first, 'team'), status.OK);
  t.is(await call(await open(), 'another'), status.OK);
  first.destroy();
  // The server notices the end of the first at some time.
  while ((await call(await open(), 'team')) !== ok);
  t.pass();
});

test('a connection of a pool has so many calls and streams under way, and one of the platform any', async (t) => {
  const { open } = await openGround(t, { callsOfPool: 2 });
  for (const token of ['team', platform]) {
    const session = await open();
    t.is(await call(session, token), status.OK);
    send(session, paths.exchange, token);
    send(session, paths.exchange, token);
    await arrived(session);
    const further = call(session, token).then(() => 'answered');
    const isMade = await Promise.race([further, arrived(session).then(async () => arrived(session))]);
    t.is(isMade, token === platform ? 'answered' : undefined);
  }
});

test('streams of a pool beyond its bound are refused, and each ends after some time, which makes room', async (t) => {
  const { open, limited } = await openGround(t, { streamsOfPool: 1, streamMs: 300 });
  const [one, two] = [await open(), await open()];
  const first = send(one, paths.exchange, 'team');
  await arrived(one);
  t.is(await send(two, paths.exchange, 'team').code, status.RESOURCE_EXHAUSTED);
  t.deepEqual(limited, ['team streams 1']);
  t.is(await call(two, 'team'), status.OK);
  send(two, paths.exchange, platform);
  t.is(await first.code, status.UNAVAILABLE);
  const next = send(two, paths.exchange, 'team');
  t.is(await next.code, status.UNAVAILABLE, 'it was let in');
});

test('where everyone may call, a caller that is not known has few calls under way on one connection', async (t) => {
  const { open } = await openGround(t, { openCalls: 2 });
  const session = await open();
  const [first] = [1, 2].map(() => send(session, paths.check));
  await arrived(session);
  t.is(await send(session, paths.check).code, status.RESOURCE_EXHAUSTED);
  const closed = first && once(first.stream, 'close');
  first?.stream.close();
  await closed;
  await arrived(session);
  const again = send(session, paths.check);
  const refused = await Promise.race([again.code.then(() => true), arrived(session).then(() => false)]);
  t.false(refused);
});
