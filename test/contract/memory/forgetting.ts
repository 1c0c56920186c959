import type { TestFn } from 'ava';
import { call, owner, toJson } from './calls.ts';
import { checksOf, refuses, type Opener } from './checks.ts';

/** Memories that are deleted by what they hold. */
export function forgettingTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory(
    'forget removes what matches and says which; nothing that narrows is refused',
    async (t, memory, { store }) => {
      const keep = await store('keep', { category: 'a', metadata: { old: false } });
      const gone = [
        await store('x', { category: 'a', metadata: { old: true } }),
        await store('y', { category: 'a', metadata: { old: true } }),
      ];
      await store('not mine', { owner: 'u:bob', category: 'a', metadata: { old: true } });
      await refuses(t, memory.forget({ owner, selection: {}, all: false }, call), 'Invalid');
      await refuses(t, memory.forget({ owner, selection: { filtersJson: toJson({}) }, all: false }, call), 'Invalid');
      const selection = { category: 'a', filtersJson: toJson({ old: true }) };
      t.deepEqual([...(await memory.forget({ owner, selection, all: false }, call)).memoryIds].sort(), gone);
      t.deepEqual((await memory.forget({ owner, selection, all: false }, call)).memoryIds, []);
      await store('of a thread', { threadId: 't1' });
      t.is((await memory.forget({ owner, selection: { threadId: 't1' }, all: false }, call)).memoryIds.length, 1);
      t.deepEqual((await memory.forget({ owner, selection: {}, all: true }, call)).memoryIds, [keep]);
      t.is((await memory.list({ owner: 'u:bob', selection: {}, limit: 10, offset: 0 }, call)).total, 1);
    },
  );
}
