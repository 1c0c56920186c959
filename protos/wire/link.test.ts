import test from 'ava';
import { within, type Call } from '../call.ts';
import { link } from './link.ts';

interface Counter {
  readonly add: (request: { readonly list: number[]; readonly bytes: Uint8Array }, call: Call) => Promise<object>;
  readonly count: (request: object, call: Call) => AsyncIterable<{ readonly n: number }>;
}

const idle: Counter = {
  add: () => Promise.resolve({}),
  async *count() {
    yield { n: 1 };
  },
};

test('a handler that throws at once is a rejected promise and a stream that throws', async (t) => {
  const broken = link<Counter>({
    add: () => {
      throw new TypeError('inside');
    },
    count: () => {
      throw new TypeError('inside');
    },
  });
  await t.throwsAsync(broken.add({ list: [], bytes: new Uint8Array(0) }, within(1000)), { code: 'Internal' });
  const read = async (): Promise<void> => {
    for await (const item of broken.count({}, within(1000))) t.log(item);
  };
  await t.throwsAsync(read(), { code: 'Internal' });
});

test('a signal that is first read after the end has fired already', async (t) => {
  const held = Promise.withResolvers<Call>();
  const slow = link<Counter>({
    ...idle,
    add: (_request, call) => {
      held.resolve(call);
      return new Promise(() => undefined);
    },
  });
  const error = await t.throwsAsync(slow.add({ list: [], bytes: new Uint8Array(0) }, within(20)));
  t.like(error, { code: 'Timeout', retryAfterMs: 1000 });
  t.true((await held.promise).signal.aborted);
});

test('a reply in time leaves the signal of the handler alone', async (t) => {
  let signal: AbortSignal | undefined;
  const caller = new AbortController();
  const quick = link<Counter>({
    ...idle,
    add: async (_request, call) => {
      signal = call.signal;
      return {};
    },
  });
  await quick.add({ list: [], bytes: new Uint8Array(0) }, within(1000, caller.signal));
  caller.abort();
  t.false(signal?.aborted);
});

test('a stream can be cut while its generator hears nothing', async (t) => {
  const deaf = link<Counter>({
    ...idle,
    async *count() {
      yield { n: 1 };
      await new Promise(() => undefined);
    },
  });
  const seen: number[] = [];
  const read = async (): Promise<void> => {
    for await (const { n } of deaf.count({}, within(30))) seen.push(n);
  };
  await t.throwsAsync(read(), { code: 'Timeout' });
  t.deepEqual(seen, [1]);
});

test('a stream that was left, cut or read to its end says done for ever', async (t) => {
  const stream = link(idle).count({}, within(1000))[Symbol.asyncIterator]();
  t.deepEqual(await stream.next(), { done: false, value: { n: 1 } });
  t.true((await stream.next()).done);
  t.true((await stream.next()).done);
  t.true((await stream.return?.())?.done);
});
