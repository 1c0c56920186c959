import test from 'ava';
import fc from 'fast-check';
import type { MemoryHead } from '../../ports/memory.ts';
import { createVectorCache } from './vector-cache.ts';

const headOf = (memoryId: string): MemoryHead => ({
  memoryId,
  memoryType: 'semantic',
  category: '',
  threadId: '',
  timestamp: 0,
  metadata: {},
});
const bytesOf = (...numbers: number[]): Uint8Array => new Uint8Array(Float32Array.from(numbers).buffer);

test('puts and removals in any order leave the same vectors as in a map', async (t) => {
  const step = fc.record({
    id: fc.integer({ min: 0, max: 30 }),
    value: fc.option(fc.integer({ min: -100, max: 100 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const owner = createVectorCache(2, 1e6).make('u:ada', { count: 0, metadataBytes: 0 });
      const expected = new Map<string, number[]>();
      for (const { id, value } of steps) {
        if (value === null) {
          owner?.remove(String(id));
          expected.delete(String(id));
        } else {
          owner?.put(headOf(String(id)), bytesOf(value, id), { seq: id, metadataBytes: 10 });
          expected.set(String(id), [value, id]);
        }
      }
      const found = new Map<string, number[]>();
      await owner?.scan((head, vectors, offset) => found.set(head.memoryId, [...vectors.subarray(offset, offset + 2)]));
      t.deepEqual(new Map([...found].sort()), new Map([...expected].sort()));
      t.true(
        steps.every(({ id }) => owner?.headAt(id)?.memoryId === (expected.has(String(id)) ? String(id) : undefined)),
      );
    }),
  );
});

test('the owners used longest ago leave the cache when it is full', (t) => {
  const cache = createVectorCache(2, 1300);
  const fill = (owner: string): void => {
    cache.make(owner, { count: 1, metadataBytes: 0 })?.put(headOf('m'), bytesOf(1, 0), { seq: 1, metadataBytes: 0 });
  };
  for (const owner of ['a', 'b', 'c']) fill(owner);
  cache.get('a');
  fill('d');
  t.deepEqual(
    ['a', 'b', 'c', 'd'].filter((owner) => cache.get(owner) !== undefined),
    ['a', 'c', 'd'],
  );
  t.is(cache.make('e', { count: 4, metadataBytes: 0 }), undefined);
});

test('an owner that becomes too large leaves the cache', (t) => {
  const cache = createVectorCache(2, 1000);
  const owner = cache.make('a', { count: 0, metadataBytes: 0 });
  for (let n = 0; n < 10; n += 1) owner?.put(headOf(String(n)), bytesOf(n, n), { seq: n, metadataBytes: 0 });
  t.is(cache.get('a'), undefined);
});

test('a scan visits each memory that stays, also when others are put and removed during it', async (t) => {
  const count = 200_000;
  const owner = createVectorCache(2, 1e9).make('u:ada', { count, metadataBytes: 0 });
  for (let n = 0; n < count; n += 1) owner?.put(headOf(String(n)), bytesOf(n, n), { seq: n, metadataBytes: 0 });
  const seen = new Map<string, number>();
  let hasEnded = false;
  const scan = owner
    ?.scan((head, vectors, offset) => {
      const until = performance.now() + 0.0005;
      while (performance.now() < until);
      seen.set(head.memoryId, vectors[offset] ?? Number.NaN);
    })
    .then(() => (hasEnded = true));
  let turns = 0;
  for (; !(hasEnded as boolean); turns += 1) {
    owner?.remove(String(turns));
    owner?.remove(String(count - 1 - turns));
    owner?.put(headOf(`new ${String(turns)}`), bytesOf(1, 1), { seq: count + turns, metadataBytes: 0 });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await scan;
  t.true(turns > 1, 'others had their turn');
  for (let n = turns; n < count - turns; n += 1) if (seen.get(String(n)) !== n) t.fail(`${String(n)} was not seen`);
  owner?.remove('1000');
  t.is(owner?.headAt(1000), undefined);
});
