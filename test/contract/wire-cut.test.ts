import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { within } from '@agent-workflow/protos/call';
import { exchangePath } from '@agent-workflow/protos/wire/call-messages';
import { connect } from '@agent-workflow/protos/wire/connect';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';

const { HTTP2_HEADER_STATUS: statusHeader, NGHTTP2_INTERNAL_ERROR: internalError } = constants;

const ofGrpc = { [statusHeader]: 200, 'content-type': 'application/grpc' };

/** Ways in which a stream ends before its status. */
const cuts: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  'it is reset': (stream) => stream.close(internalError),
  'it ends without a status': (stream) => {
    stream.respond(ofGrpc);
    stream.end();
  },
  // Not at once: Node ends the process when a stream begins in the bytes behind those that led to this.
  'its connection is closed': (stream) => setImmediate(() => stream.session?.destroy()),
};

/** An empty reply of gRPC: a frame of no bytes, and the status 0. */
function answer(stream: ServerHttp2Stream): void {
  stream.respond(ofGrpc, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.alloc(5));
}

interface RawServer {
  readonly address: string;
  /** How many calls have reached it. */
  readonly asked: () => number;
}

/** A server that ends its first calls as `cut` does and answers those after them. */
const openCutting = (
  t: ExecutionContext,
  cut: (stream: ServerHttp2Stream) => void,
  count: number,
): Promise<RawServer> => openAnswering(t, (stream, index) => (index < count ? cut : answer)(stream));

/** A server that takes no streams of calls, and gives each call, by its number from 0, to `handle` once its request is there. */
async function openAnswering(
  t: ExecutionContext,
  handle: (stream: ServerHttp2Stream, index: number) => void,
): Promise<RawServer> {
  let asked = 0;
  const server = createServer();
  server.on('session', (session) => t.teardown(() => session.destroy()));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers[':path'] === exchangePath) {
      stream.respond({ ...ofGrpc, 'grpc-status': '12' }, { endStream: true });
      return;
    }
    stream.resume();
    // A busy machine is slow enough to be asked for its health.
    const isHealthCheck = headers[':path']?.startsWith('/grpc.health.') === true;
    stream.on('end', () => (isHealthCheck ? answer(stream) : handle(stream, asked++)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

for (const [way, cut] of Object.entries(cuts)) {
  test(`a call that may be repeated is made again when ${way} before its reply`, async (t) => {
    const { address, asked } = await openCutting(t, cut, 1);
    await using execution = connect('execution', address);
    await execution.deleteThread({ owner: 'ada', threadId: 't' }, within(byLoad(20_000)));
    t.is(asked(), 2);
  });

  test(`a stream is Unavailable when ${way} before its first event`, async (t) => {
    const { address } = await openCutting(t, cut, 1);
    await using execution = connect('execution', address);
    const events = execution.follow({ owner: 'ada', runId: 'r', after: 0 }, within(byLoad(20_000)));
    const read = async (): Promise<void> => {
      for await (const _ of events) t.fail('there is no event');
    };
    await t.throwsAsync(read(), { code: 'Unavailable' });
  });
}

/** How long a server holds the attempt before the last: so the call is a second old in the pause that follows. */
const heldMs = 550;

test('a call whose only server keeps refusing it as not begun fails with what that server says', async (t) => {
  const refusal = Buffer.from(JSON.stringify({ code: 'Unavailable', message: 'the service is starting', details: [] }));
  const { address } = await openAnswering(t, (stream, index) => {
    const refuse = (): void =>
      stream.respond(
        {
          ...ofGrpc,
          ...{ 'grpc-status': '14', 'not-begun': 'starting' },
          'service-error-bin': refusal.toString('base64'),
        },
        { endStream: true },
      );
    if (index === 4) setTimeout(refuse, heldMs);
    else refuse();
  });
  await using execution = connect('execution', address);
  const error = await t.throwsAsync(execution.getGraph({}, within(byLoad(20_000))), { code: 'Unavailable' });
  t.is(error.message, 'the service is starting', String((error.cause as Error | undefined)?.message));
});
