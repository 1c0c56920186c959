import test from 'ava';
import { createKeyedLock } from './keyed-lock.ts';

test('functions of one key run one after another, in their order, also after one that fails', async (t) => {
  const lock = createKeyedLock();
  const log: string[] = [];
  const work = (name: string) => async (): Promise<string> => {
    log.push(`${name} begins`);
    await Promise.resolve();
    log.push(`${name} ends`);
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const done = await Promise.allSettled(['a', 'b', 'c'].map(async (name) => lock('k', work(name))));
  t.deepEqual(log, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  t.deepEqual(
    done.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

test('functions of different keys do not wait for each other', async (t) => {
  const lock = createKeyedLock();
  const held = Promise.withResolvers<string>();
  const first = lock('a', () => held.promise);
  t.is(await lock('b', () => Promise.resolve('done')), 'done');
  held.resolve('let go');
  t.is(await first, 'let go');
});
