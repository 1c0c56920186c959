import test from 'ava';
import type { MemoryRecord } from '../../ports/memory.ts';
import { openSqliteMemoryStore } from './store.ts';

const owner = 'u:ada';
/** More than one read brings. */
const count = 200;

const toMemory = (memoryId: string, timestamp: number): MemoryRecord => ({
  ...{ memoryId, content: 'a note', memoryType: 'semantic', category: 'notes', threadId: '', timestamp },
  ...{ metadataJson: Buffer.from('{}'), vectorJson: Buffer.from('[1]'), vector: Float32Array.from([1]) },
});

test('a memory that moves to the front while a list is read is in it once, and first', async (t) => {
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder: { model: 'given', dimension: 1 } });
  const ids = Array.from({ length: count }, (_, place) => `m${String(place)}`);
  for (const [place, memoryId] of ids.entries()) await store.put(owner, toMemory(memoryId, place));
  const moves: Promise<unknown>[] = [];
  const move = (memoryId: string): number =>
    moves.push(store.update(owner, memoryId, () => toMemory(memoryId, count + moves.length)));
  const { heads, total } = await store.list({
    owner,
    narrowing: {},
    limit: Infinity,
    accepts: () => {
      if (moves.length > 0) return true;
      ['m0', 'm199', 'm7'].forEach(move);
      // So long that other work gets its turn between two reads.
      for (const end = performance.now() + 40; performance.now() < end;);
      return true;
    },
  });
  await Promise.all(moves);
  const found = heads.map(({ memoryId }) => memoryId);
  t.deepEqual(
    ids.filter((id) => !found.includes(id)),
    [],
  );
  t.is(found.length, count);
  t.is(total, count);
  t.is(found[0], 'm7');
});
