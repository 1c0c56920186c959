import { setImmediate } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import test from 'ava';
import { within, type Call } from '../call.ts';
import { link, type LinkedMethod } from './link.ts';

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

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;

interface Operand {
  readonly x: number;
}

const doubling = link({ double: ({ x }: Operand, _: Call): Promise<Operand> => Promise.resolve({ x: x * 2 }) });

/** A call from a caller that holds some 2 kB until it is answered. */
async function double(x: number): Promise<number> {
  const held = Array.from({ length: 50 }, (_, index) => ({ index }));
  const { signal } = new AbortController();
  signal.addEventListener('abort', () => held.pop());
  return (await doubling.double({ x }, { deadline: Date.now() + 30_000, signal })).x;
}

test.serial('what is held for a call within a process does not get old', async (t) => {
  for (let x = 0; x < 5000; x++) await double(x);
  const before = oldBytes();
  let most = before;
  for (let x = 0; x < 50_000; x++) {
    t.is(await double(x), x * 2);
    if (x % 1000 === 0) most = Math.max(most, oldBytes());
  }
  t.log(`the old space grew by ${String(most - before)} bytes`);
  t.true(most - before < 8 * 1024 * 1024);
});

test('the work of a call ends when the service has answered or failed, and at once where it was not begun', async (t) => {
  const ended: string[] = [];
  const works = [Promise.withResolvers<object>(), Promise.withResolvers<object>()];
  const { work, refuse } = link({
    work: async ({ index }: { readonly index: number }) => works[index]?.promise,
    refuse: () => {
      throw new Error('refused');
    },
  }) as unknown as Readonly<Record<'work' | 'refuse', LinkedMethod>>;
  const begin = (index: number): Promise<object> =>
    work({ index }, within(20), () => ended.push(`work ${String(index)}`)) as Promise<object>;
  const calls = [begin(0), begin(1)];
  await Promise.all(calls.map(async (call) => t.throwsAsync(call, { code: 'Timeout' })));
  t.deepEqual(ended, []);
  works[1]?.reject(new Error('failed'));
  await setImmediate();
  t.deepEqual(ended, ['work 1']);
  works[0]?.resolve({});
  await setImmediate();
  t.deepEqual(ended, ['work 1', 'work 0']);

  await t.throwsAsync(refuse({}, within(20), () => ended.push('refused')) as Promise<object>);
  await t.throwsAsync(work({ index: 0 }, within(-1), () => ended.push('not begun')) as Promise<object>);
  t.deepEqual(ended.slice(2), ['refused', 'not begun']);
});
