import type { TestFn } from 'ava';
import { call, fromJson, owner } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { dot } from './scores.ts';

/** What is stored, and what is stored twice. */
export function storingTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory('what is stored comes back whole', async (t, memory, { store }) => {
    const metadata = { tags: ['a', 'b'], deep: { x: null }, constructor: 'kept' };
    const before = Date.now();
    const memoryId = await store('Ada likes ristretto ☕', {
      metadata,
      threadId: 't1',
      category: 'taste',
      memoryType: 'episodic',
    });
    const item = await memory.get({ owner, memoryId }, call);
    t.is(item.content, 'Ada likes ristretto ☕');
    t.deepEqual(
      [item.memoryId, item.memoryType, item.category, item.threadId, item.score],
      [memoryId, 'episodic', 'taste', 't1', 1],
    );
    t.deepEqual(fromJson(item.metadataJson), metadata);
    t.true(item.timestamp >= before && item.timestamp <= Date.now());
    const vector = fromJson(item.vectorJson) as number[];
    t.true(Math.abs(dot(vector, vector) - 1) < 1e-4);
  });

  withMemory('storing the same id again is answered alike and changes nothing', async (t, memory, { store }) => {
    t.is(await store('first', { memoryId: 'same' }), 'same');
    t.is(await store('second', { memoryId: 'same' }), 'same');
    t.is((await memory.get({ owner, memoryId: 'same' }, call)).content, 'first');
  });

  withMemory('what is stored with dedupe is stored once, until it is changed', async (t, memory, { store }) => {
    const first = await store('tea at four', { dedupe: true });
    t.is(await store('tea at four', { dedupe: true }), first);
    t.deepEqual(
      await Promise.all(Array.from({ length: 8 }, async () => store('tea at four', { dedupe: true }))),
      Array.from({ length: 8 }, () => first),
    );
    const others = [
      await store('tea at five', { dedupe: true }),
      await store('tea at four', { dedupe: true, category: 'x' }),
      await store('tea at four', { dedupe: true, threadId: 't1' }),
      await store('tea at four', { dedupe: true, memoryType: 'episodic' }),
      await store('tea at four'),
    ];
    t.is(new Set([first, ...others]).size, 6);
    const foreign = await store('tea at four', { dedupe: true, owner: 'u:bob' });
    t.is((await memory.get({ owner: 'u:bob', memoryId: foreign }, call)).content, 'tea at four');
    await memory.update({ owner, memoryId: first, content: 'no tea' }, call);
    const again = await store('tea at four', { dedupe: true });
    t.not(again, first);
    t.deepEqual(
      await Promise.all(Array.from({ length: 8 }, async () => store('tea at four', { dedupe: true }))),
      Array.from({ length: 8 }, () => again),
    );
    t.is((await memory.list({ owner, selection: {}, limit: 1, offset: 0 }, call)).total, 7);
    await memory.delete({ owner, memoryId: first }, call);
    t.is(await store('tea at four', { dedupe: true }), again);
    await memory.delete({ owner, memoryId: again }, call);
    t.is(await store('tea at four', { dedupe: true }), first);
  });
}
