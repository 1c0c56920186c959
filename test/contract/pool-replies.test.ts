import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import test, { type ExecutionContext } from 'ava';
import { within } from '@agent-workflow/protos/call';
import type { RegisteredAgent } from '@agent-workflow/protos/threads';
import { exchangePath, requestsCodec } from '@agent-workflow/protos/wire/call-messages';
import { definitionOf } from '@agent-workflow/protos/wire/definitions';
import { until } from '../until.ts';
import { openPoolGround, platformToken, threadsWith, tokenOf } from './pool-ground.ts';

const pools = { support: ['support'], billing: ['billing'] };
const MiB = 1024 * 1024;
const callMs = 30_000;
/** Calls whose work begins before the size of their replies is known. */
const workedOnAtOnce = 64;
const calls = 500;
const bounds = { bytes: 8 * MiB };
const { GetRegisteredAgent: rpc } = definitionOf('threads');
const deadline = { 'grpc-timeout': `${String(callMs)}m` };
const request = rpc?.requestSerialize({ agent: 'support' }) ?? Buffer.alloc(0);

type Send = (session: ClientHttp2Session) => readonly ClientHttp2Stream[];

function begin(session: ClientHttp2Session, path: string, message: Buffer): ClientHttp2Stream {
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...deadline };
  const stream = session.request({ ...headers, authorization: `Bearer ${tokenOf('support')}` });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.byteLength, 1);
  stream.on('error', () => undefined).write(Buffer.concat([prefix, message]));
  return stream;
}

const ways: Readonly<Record<string, Send>> = {
  'calls of their own': (session) =>
    Array.from({ length: calls }, () => begin(session, rpc?.path ?? '', request).end()),
  'calls on one stream': (session) => {
    const each = { path: rpc?.path ?? '', message: request, timeoutMs: callMs, context: {} };
    const requests = Array.from({ length: calls }, (_, index) => ({ ...each, id: index + 1 }));
    return [begin(session, exchangePath, requestsCodec.encode({ requests }))];
  },
};

async function openGround(t: ExecutionContext) {
  const large: RegisteredAgent = {
    ...{ agent: 'support', routing: { version: 1 }, revisions: [] },
    description: 'x'.repeat(MiB),
  };
  let begun = 0;
  const threads = threadsWith({
    getRegisteredAgent: ({ agent }) => {
      if (agent !== 'support') return Promise.resolve({ ...large, description: 'small' });
      begun += 1;
      return Promise.resolve(large);
    },
  });
  const ground = await openPoolGround({ pools, bounds, services: { threads } });
  t.teardown(() => ground[Symbol.asyncDispose]());
  const open = (): ClientHttp2Session => {
    const session = connect(`http://${ground.address}`);
    session.on('error', () => undefined);
    t.teardown(() => session.destroy());
    return session;
  };
  return { ground, open, begun: () => begun };
}

for (const [title, send] of Object.entries(ways)) {
  test(`a pool that does not read the replies to ${title} has few of them kept, and gets the others when it reads`, async (t) => {
    const { ground, open, begun } = await openGround(t);
    const sent = send(open());
    await until(() => begun() >= bounds.bytes / MiB);
    const others = [ground.as('threads', platformToken), ground.as('threads', tokenOf('billing'))];
    for (let call = 0; call < 100; call++)
      for (const other of others) await other.getRegisteredAgent({ agent: 'billing' }, within(callMs));
    t.true(begun() <= bounds.bytes / MiB + workedOnAtOnce, `${String(begun())} replies are kept`);
    t.deepEqual(ground.limited, []);
    for (const stream of sent) stream.resume();
    await until(() => begun() === calls);
  });

  test(`a connection that ends with unread replies to ${title} makes room for the calls of its pool`, async (t) => {
    const { ground, open, begun } = await openGround(t);
    const session = open();
    send(session);
    await until(() => begun() >= bounds.bytes / MiB);
    const reply = ground.as('threads', tokenOf('support')).getRegisteredAgent({ agent: 'support' }, within(callMs));
    session.destroy();
    t.is((await reply).description?.length, MiB);
  });
}
