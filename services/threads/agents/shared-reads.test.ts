import { setImmediate as settled } from 'node:timers/promises';
import test from 'ava';
import { unavailable } from '@agent-workflow/kit/errors';
import { createSharedReads } from './shared-reads.ts';

/** A record whose reads end when they are released; each gives its number. */
function held() {
  const begun: { readonly name: string; readonly end: () => void; readonly fail: () => void }[] = [];
  const read = createSharedReads(async (name) => {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const number = begun.push({
      name,
      end: () => resolve(undefined),
      fail: () => reject(unavailable('the record is unavailable')),
    });
    await promise;
    return number;
  });
  return { read, begun };
}

test('calls that come while an agent is read share the next read, which begins after them', async (t) => {
  const { read, begun } = held();
  const first = read('support');
  const later = Array.from({ length: 100 }, () => read('support'));
  t.is(begun.length, 1);
  begun[0]?.end();
  t.is(await first, 1);
  await settled();
  t.is(begun.length, 2);
  const last = read('support');
  begun[1]?.end();
  t.deepEqual([...new Set(await Promise.all(later))], [2]);
  await settled();
  begun[2]?.end();
  t.is(await last, 3);
  await settled();
  const alone = read('support');
  t.is(begun.length, 4);
  begun[3]?.end();
  t.is(await alone, 4);
});

test('agents are read beside each other, and a read that fails fails its callers alone', async (t) => {
  const { read, begun } = held();
  const [failing, next, other] = [read('support'), read('support'), read('billing')];
  t.deepEqual(
    begun.map(({ name }) => name),
    ['support', 'billing'],
  );
  begun[0]?.fail();
  await t.throwsAsync(failing, { code: 'Unavailable' });
  await settled();
  begun[2]?.end();
  begun[1]?.end();
  t.deepEqual([await next, await other], [3, 2]);
});
