import { once } from 'node:events';
import { connect, createServer, type ClientHttp2Stream, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Metadata } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { createHeldReplies } from './held-replies.ts';

/** A call on a connection of its own, and what of its replies is counted. */
async function openCall(t: ExecutionContext) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  client.on('error', () => undefined);
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  const call: ClientHttp2Stream = client.request({ ':method': 'POST' }).on('error', () => undefined);
  const [stream] = (await once(server, 'stream')) as [ServerHttp2Stream];
  stream.on('error', () => undefined);
  const counted = new Map<number, () => void>();
  const replies = createHeldReplies((pool, bytes, drop) => {
    t.is(pool, 'billing');
    counted.set(bytes, drop);
    return () => void counted.delete(bytes);
  });
  const metadata = new Metadata();
  replies.watch(metadata, { stream, pool: 'billing' });
  return { client, call, stream, metadata, counted, hold: (bytes: number) => replies.hold(metadata, bytes), replies };
}

test('a reply counts until its connection has taken it', async (t) => {
  const { hold, counted } = await openCall(t);
  const [first] = [hold(1), hold(2)];
  t.deepEqual([...counted.keys()], [1, 2]);
  first();
  first();
  t.deepEqual([...counted.keys()], [2]);
});

test('no reply counts any more when its call is closed, nor one that comes later', async (t) => {
  const { call, stream, hold, counted } = await openCall(t);
  hold(1);
  call.close();
  await once(stream, 'close');
  hold(2);
  t.is(counted.size, 0);
});

test('what is counted can be dropped with its connection', async (t) => {
  const { client, hold, counted } = await openCall(t);
  hold(1);
  const closed = once(client, 'close');
  counted.get(1)?.();
  await closed;
  t.is(counted.size, 0);
});

test('replies of a call that is not watched do not count', async (t) => {
  const { replies, counted } = await openCall(t);
  replies.hold(new Metadata(), 1)();
  t.is(counted.size, 0);
});
