import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import fc from 'fast-check';
import { createShortLivedMap, createShortLivedSet } from './short-lived.ts';

test('it holds what a Map would hold, in the same order, after any changes', (t) => {
  const change = fc.tuple(fc.constantFrom('set', 'delete', 'delete', 'has'), fc.nat(60), fc.nat());
  fc.assert(
    fc.property(fc.array(change, { minLength: 100, maxLength: 600, size: 'max' }), (changes) => {
      const [ours, map] = [createShortLivedMap<number, number>(), new Map<number, number>()];
      for (const [what, key, value] of changes) {
        if (what === 'set') {
          ours.set(key, value);
          map.set(key, value);
        } else if (what === 'delete' && ours.delete(key) !== map.delete(key)) return false;
        if (ours.has(key) !== map.has(key) || ours.get(key) !== map.get(key) || ours.size() !== map.size) return false;
      }
      t.deepEqual(ours.entries(), [...map]);
      t.deepEqual(ours.keys(), [...map.keys()]);
      t.deepEqual(ours.values(), [...map.values()]);
      return true;
    }),
    { numRuns: 200 },
  );
});

test('a set has each value once, and lists those that are left', (t) => {
  const set = createShortLivedSet<string>();
  for (const value of ['a', 'b', 'a', 'c']) set.add(value);
  t.is(set.size(), 3);
  t.true(set.delete('b'));
  t.false(set.delete('b'));
  t.false(set.has('b'));
  t.deepEqual(set.values(), ['a', 'c']);
});

test('entries may go while those that are there are read', (t) => {
  const map = createShortLivedMap<number, string>();
  for (let key = 0; key < 100; key++) map.set(key, 'value');
  for (const key of map.keys()) map.delete(key);
  t.is(map.size(), 0);
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** By how many bytes the old space grows at most while 200,000 values of some 2 kB come and go, of which 16 are there at once. */
function grownBy(
  map: Pick<Map<number, object>, 'delete'> & { readonly set: (key: number, value: object) => unknown },
): number {
  const before = oldBytes();
  let most = before;
  for (let key = 0; key < 200_000; key++) {
    map.set(
      key,
      Array.from({ length: 50 }, (_, index) => ({ index })),
    );
    map.delete(key - 16);
    // What is there is old from here on.
    if (key === 100) collect();
    if (key % 1000 === 0) most = Math.max(most, oldBytes());
  }
  return most - before;
}

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;

test('what has gone from it does not get old, as it does with a Map', (t) => {
  const [ours, map] = [grownBy(createShortLivedMap<number, object>()), grownBy(new Map<number, object>())];
  t.log(`the old space grew by ${String(ours)} bytes, with a Map by ${String(map)}`);
  t.true(ours < map / 4);
});
