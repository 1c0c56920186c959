import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import test, { type ExecutionContext } from 'ava';

const { HTTP2_HEADER_STATUS: statusHeader, NGHTTP2_INTERNAL_ERROR: internalError } = constants;

/** Ways in which a stream ends before its status. */
const cuts: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  'it is reset': (stream) => stream.close(internalError),
  'it ends without a status': (stream) => {
    stream.respond({ [statusHeader]: 200, 'content-type': 'application/grpc' });
    stream.end();
  },
  'its connection is closed': (stream) => stream.session?.destroy(),
};

/** An empty reply of gRPC: a frame of no bytes, and the status 0. */
function answer(stream: ServerHttp2Stream): void {
  stream.respond({ [statusHeader]: 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.alloc(5));
}

/** A server that ends its first calls as `cut` does and answers those after them; gives its address and how many it was asked. */
async function openCutting(
  t: ExecutionContext,
  cut: (stream: ServerHttp2Stream) => void,
  count: number,
): Promise<{ readonly address: string; readonly asked: () => number }> {
  let asked = 0;
  const server = createServer();
  server.on('session', (session) => t.teardown(() => session.destroy()));
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.resume();
    stream.on('end', () => (asked++ < count ? cut : answer)(stream));
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
    await execution.deleteThread({ owner: 'ada', threadId: 't' }, within(20_000));
    t.is(asked(), 2);
  });

  test(`a stream is Unavailable when ${way} before its first event`, async (t) => {
    const { address } = await openCutting(t, cut, 1);
    await using execution = connect('execution', address);
    const events = execution.follow({ owner: 'ada', runId: 'r', after: 0 }, within(20_000));
    const read = async (): Promise<void> => {
      for await (const _ of events) t.fail('there is no event');
    };
    await t.throwsAsync(read(), { code: 'Unavailable' });
  });
}
