import test from 'ava';
import fc from 'fast-check';
import type { MemoryHead } from '../port.ts';
import { createVectorCache } from './sqlite-vectors.ts';

const headOf = (memoryId: string): MemoryHead => ({
  memoryId,
  memoryType: 'semantic',
  category: '',
  threadId: '',
  timestamp: 0,
  metadata: {},
});
const bytesOf = (...numbers: number[]): Uint8Array => new Uint8Array(Float32Array.from(numbers).buffer);

test('puts and removals in any order leave the vectors that a map would have', (t) => {
  const step = fc.record({
    id: fc.integer({ min: 0, max: 30 }),
    value: fc.option(fc.integer({ min: -100, max: 100 })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
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
      owner?.scan((head, vectors, offset) => found.set(head.memoryId, [...vectors.subarray(offset, offset + 2)]));
      t.deepEqual(new Map([...found].sort()), new Map([...expected].sort()));
      t.true(
        steps.every(({ id }) => owner?.headAt(id)?.memoryId === (expected.has(String(id)) ? String(id) : undefined)),
      );
    }),
  );
});

test('the owners used longest ago leave when there is no room', (t) => {
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

test('an owner that outgrows the room leaves by itself', (t) => {
  const cache = createVectorCache(2, 1000);
  const owner = cache.make('a', { count: 0, metadataBytes: 0 });
  for (let n = 0; n < 10; n += 1) owner?.put(headOf(String(n)), bytesOf(n, n), { seq: n, metadataBytes: 0 });
  t.is(cache.get('a'), undefined);
});
