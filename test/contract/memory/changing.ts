import type { TestFn } from 'ava';
import { call, fromJson, owner, toJson } from './calls.ts';
import { checksOf, refuses, type Opener } from './checks.ts';

/** Memories that are changed or deleted. */
export function changingTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory('a foreign id and an absent one are refused alike', async (t, memory, { store }) => {
    await store('hers', { memoryId: 'one' });
    const messageOf = async (who: string, memoryId: string): Promise<string> => {
      const error = await t.throwsAsync(memory.get({ owner: who, memoryId }, call));
      return error.message.replace(memoryId, '…');
    };
    t.is(await messageOf('u:bob', 'one'), await messageOf(owner, 'two'));
    const key = { owner: 'u:bob', memoryId: 'one' };
    await refuses(t, memory.get(key, call), 'NotFound');
    await refuses(t, memory.update({ ...key, content: 'his' }, call), 'NotFound');
    await refuses(t, memory.delete(key, call), 'NotFound');
    t.is((await memory.get({ owner, memoryId: 'one' }, call)).content, 'hers');
  });

  withMemory('an update embeds anew and merges the metadata', async (t, memory, { store, find }) => {
    const memoryId = await store('drinks tea', { metadata: { kept: 1, changed: 1 } });
    const before = await memory.get({ owner, memoryId }, call);
    const updated = await memory.update(
      { owner, memoryId, content: 'plays chess', metadataJson: toJson({ changed: 2, __proto__x: 3 }) },
      call,
    );
    t.deepEqual(fromJson(updated.metadataJson), { kept: 1, changed: 2, __proto__x: 3 });
    t.notDeepEqual(fromJson(updated.vectorJson), fromJson(before.vectorJson));
    t.deepEqual(await find('chess', { scoreThreshold: 0.6 }), ['plays chess']);
    const again = await memory.update({ owner, memoryId, content: 'plays go' }, call);
    t.deepEqual(fromJson(again.metadataJson), { kept: 1, changed: 2, __proto__x: 3 });
    t.is(again.memoryType, 'semantic');
  });

  withMemory('a deleted memory is gone, and deleting it again is refused', async (t, memory, { store, find }) => {
    const memoryId = await store('to be gone');
    t.deepEqual(await memory.delete({ owner, memoryId }, call), {});
    t.deepEqual(await find('to be gone'), []);
    await refuses(t, memory.delete({ owner, memoryId }, call), 'NotFound');
  });
}
