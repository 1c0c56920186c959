import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { Talk } from '../../../http/talk.ts';
import { readSubscription, type Channel } from '../protocol/channels.ts';
import type { ProtocolFrame } from '../protocol/protocol-frame.ts';
import { createSubscriptions, type Publish, type Subscriptions } from './subscriptions.ts';

const frameOf = (channel: Channel, seq: number): ProtocolFrame => ({
  ...{ channel, method: channel, id: `${channel} ${String(seq)}`, seq, json: `${channel} ${String(seq)}` },
});

interface Connection {
  readonly subscriptions: Subscriptions;
  readonly sent: readonly string[];
  readonly close: () => void;
}

function connect(): Connection {
  const sent: string[] = [];
  const closing = new AbortController();
  const talk: Talk = {
    texts: { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }) },
    send: (text) => Promise.resolve(void sent.push(text)),
    count: () => Promise.resolve(),
    close: () => undefined,
    signal: closing.signal,
  };
  return { subscriptions: createSubscriptions(talk), sent, close: () => closing.abort() };
}

const to = (...channels: Channel[]) => readSubscription({ channels }, []);

/** Sends the end of a run, and stays. */
const ending =
  (...before: readonly ProtocolFrame[]): Publish =>
  async (signal, send) => {
    await send({ frames: [...before, frameOf('lifecycle', 2)], seq: 2, isEnd: true });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };

test('the end of a run is sent when the other subscriptions have sent what is before it, and once', async (t) => {
  const { subscriptions, sent } = connect();
  const held = Promise.withResolvers<undefined>();
  subscriptions.add(to('values', 'lifecycle'), async (signal, send) => {
    await held.promise;
    await send({ frames: [frameOf('values', 1)], seq: 1, isEnd: false });
    await ending(frameOf('values', 2))(signal, send);
  });
  subscriptions.add(to('values'), async (signal, send) => {
    await send({ frames: [], seq: 2, isEnd: true });
    await ending()(signal, () => Promise.resolve());
  });
  subscriptions.add(to('lifecycle'), ending());
  await turn();
  t.deepEqual(sent, []);
  held.resolve(undefined);
  await turn();
  t.deepEqual(sent, ['values 1', 'values 2', 'lifecycle 2']);
});

test('a subscription that ends holds no end of a run back', async (t) => {
  const { subscriptions, sent } = connect();
  const id = subscriptions.add(to('values'), () => new Promise(() => undefined));
  subscriptions.add(to('lifecycle'), ending());
  await turn();
  t.deepEqual(sent, []);
  t.true(subscriptions.remove(id));
  await turn();
  t.deepEqual(sent, ['lifecycle 2']);
});
