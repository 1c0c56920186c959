import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { Metadata, Server, ServerCredentials, status, type handleUnaryCall, type StatusObject } from '@grpc/grpc-js';
import { fromUnknown } from '@agent-workflow/kit/errors';
import test, { type ExecutionContext } from 'ava';
import { createArrivals } from './arrivals.ts';
import { asBytes } from './call-messages.ts';
import { toStatus } from './status.ts';

const path = '/test.Echo/Call';
const openPath = '/test.Echo/Check';
const refusedPath = '/test.Echo/Refused';
const [token, large] = ['Bearer of a pool', 200_000];

interface Ground {
  readonly session: ClientHttp2Session;
  /** What was served. */
  readonly served: number[];
  readonly limited: string[];
  readonly unknown: string[];
}

async function openGround(
  t: ExecutionContext,
  { bytes = 1_000_000, calls = 100, arrivalMs = 60_000 },
): Promise<Ground> {
  const [served, limited, unknown]: [number[], string[], string[]] = [[], [], []];
  const pool = { name: 'team', agents: new Set<string>() };
  const arrivals = createArrivals({
    callerOf: (metadata) => () => (metadata.get('authorization')[0] === token ? pool : undefined),
    isOpen: (called) => called === openPath,
    refusal: { code: status.UNAUTHENTICATED, details: 'not known', metadata: new Metadata() },
    onUnknownCaller: (called) => unknown.push(called),
    limiting: {
      bounds: { bytes, calls, callsPerSecond: 1000 },
      onLimited: ({ pool: name, bound }) => limited.push(`${name} ${bound}`),
    },
    refuse: (error) => {
      const { code, details } = toStatus(fromUnknown(error));
      return { code, details, metadata: new Metadata() };
    },
    ...{ arrivalMs, streamMs: 60_000, connections: undefined, replies: undefined },
  });
  const server = new Server({ interceptors: [arrivals] });
  const codec = { requestSerialize: asBytes, requestDeserialize: asBytes };
  const rest = { ...codec, responseSerialize: asBytes, responseDeserialize: asBytes };
  const method = { requestStream: false, responseStream: false, ...rest };
  const serveBytes: handleUnaryCall<Buffer, Buffer> = ({ request }, answer) => {
    served.push(request.byteLength);
    answer(null, Buffer.alloc(1));
  };
  server.addService(
    {
      call: { path, ...method },
      check: { path: openPath, ...method },
      refused: { path: refusedPath, ...method },
    },
    {
      ...{ call: serveBytes, check: serveBytes },
      refused: (_call: unknown, answer: (error: Partial<StatusObject>) => void) =>
        answer({ code: status.FAILED_PRECONDITION, details: 'no' }),
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const session = connect(`http://127.0.0.1:${String(port)}`);
  t.teardown(() => {
    session.destroy();
    server.forceShutdown();
  });
  return { session, served, limited, unknown };
}

interface Sending {
  readonly stream: ClientHttp2Stream;
  /** The status that the server ended the call with. */
  readonly code: Promise<number>;
}

interface Beginning {
  readonly to: string;
  readonly shown: string;
  readonly size: number;
  readonly sent: number;
}

/** Sends the begin of a request, whose message has `size` bytes in the end. */
function begin({ session }: Ground, options: Partial<Beginning>): Sending {
  const { to, shown, size, sent = size } = { to: path, shown: token, size: large, ...options };
  const headers = { ':method': 'POST', ':path': to, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request({ ...headers, authorization: shown });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(size, 1);
  const { promise, resolve } = Promise.withResolvers<number>();
  const see = (found: Readonly<Record<string, unknown>>): void => {
    if (found['grpc-status'] !== undefined) resolve(Number(found['grpc-status']));
  };
  stream
    .on('response', see)
    .on('trailers', see)
    .on('error', () => undefined)
    .resume();
  stream.write(Buffer.concat([prefix, Buffer.alloc(sent)]));
  return { stream, code: promise };
}

test('a caller that is not known is refused by its headers, and its request is not waited for', async (t) => {
  const ground = await openGround(t, {});
  const { stream, code } = begin(ground, { shown: 'Bearer of nobody', sent: 10 });
  const closed = once(stream, 'close');
  t.is(await code, status.UNAUTHENTICATED);
  await closed;
  t.deepEqual([ground.unknown, ground.served], [[path], []]);
});

test('where everyone may call, a caller that is not known sends little', async (t) => {
  const ground = await openGround(t, {});
  const { stream, code } = begin(ground, { to: openPath, shown: 'Bearer of nobody', size: 20 });
  stream.end();
  t.is(await code, status.OK);
  t.is(await begin(ground, { to: openPath, shown: 'Bearer of nobody', sent: 5000 }).code, status.RESOURCE_EXHAUSTED);
  t.deepEqual([ground.unknown, ground.served], [[], [20]]);
});

test('what arrives of one pool has no more bytes together than its bound, and a larger request is let in alone', async (t) => {
  const ground = await openGround(t, { bytes: large * 0.75 });
  const both = [1, 2].map(() => begin(ground, { sent: large / 2 }));
  const first = await Promise.race(both.map(async ({ code }, index) => ({ code: await code, index })));
  t.is(first.code, status.RESOURCE_EXHAUSTED);
  t.deepEqual(ground.limited, ['team bytes']);
  const other = both[1 - first.index];
  other?.stream.end(Buffer.alloc(large / 2));
  t.is(await other?.code, status.OK);
  t.deepEqual(ground.served, [large]);
});

test('requests of one pool that do not end are no more than its bound, and the end of one makes room', async (t) => {
  const ground = await openGround(t, { calls: 2 });
  const [one, two, three] = [1, 2, 3].map(() => begin(ground, { sent: 10 }));
  t.is(await three?.code, status.RESOURCE_EXHAUSTED);
  t.deepEqual(ground.limited, ['team calls']);
  one?.stream.destroy();
  two?.stream.end(Buffer.alloc(large - 10));
  t.is(await two?.code, status.OK);
  const again = begin(ground, {});
  again.stream.end();
  t.is(await again.code, status.OK);
});

test('a request that does not arrive in time is ended', async (t) => {
  const ground = await openGround(t, { arrivalMs: 50 });
  const { stream, code } = begin(ground, { sent: 10 });
  const closed = once(stream, 'close');
  t.is(await code, status.UNAVAILABLE);
  await closed;
  t.deepEqual(ground.served, []);
});

test('refusals of small calls of a pool are sent one after the other, those of large ones at once', async (t) => {
  const ground = await openGround(t, { calls: 5000 });
  // Before, a client has no more than 100 calls under way.
  await once(ground.session, 'remoteSettings');
  const refused = (size: number): Promise<number> => {
    const { stream, code } = begin(ground, { to: refusedPath, size });
    stream.end();
    return code;
  };
  const since = performance.now();
  let sent = 0;
  // Each waits for 100 ms at least, in which one arrives that is hardly larger than a small one.
  const small = Array.from({ length: 900 }, () => refused(20).finally(() => (sent += 1)));
  t.is(await refused(5000), status.FAILED_PRECONDITION);
  t.true(sent < 900);
  t.deepEqual([...new Set(await Promise.all(small))], [status.FAILED_PRECONDITION]);
  t.true(performance.now() - since > 1000);
  t.deepEqual(ground.limited, []);
});

test('a connection of a pool is closed on which a small call is refused while too many refusals wait', async (t) => {
  const ground = await openGround(t, { calls: 5000 });
  const closed = once(ground.session, 'close');
  for (let call = 0; call < 2500; call++) begin(ground, { to: refusedPath, size: 20 }).stream.end();
  await closed;
  t.deepEqual([...new Set(ground.limited)], ['team refusals']);
});
