import { deleteItem, noteOf, putItem, settleNote, type ItemParts } from '@agent-workflow/gateway/items';
import { notFound, unavailable } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';

const owner = 'u:ada';
const keys = ['a', 'b'] as const;
const namespace = ['notes'];

/** Memories in a map. */
function createMemories(): Pick<Memory, 'store' | 'search' | 'delete'> & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    search: () => Promise.resolve({ results: [] }),
    store: ({ memoryId, content }) => {
      if (!kept.has(memoryId)) kept.set(memoryId, content);
      return Promise.resolve({ memoryId });
    },
    delete: ({ memoryId }) => (kept.delete(memoryId) ? Promise.resolve({}) : Promise.reject(notFound(memoryId))),
  };
}

/** A replica of which the nth call fails, before or after it was made, and all that follow it where the replica ends there. Each call takes a while. */
function failingAt(parts: ItemParts, { nth, isAfter, ends, slowness }: Failure): ItemParts {
  let count = 0;
  const guard = <T extends object>(calls: T): T =>
    Object.fromEntries(
      Object.entries(calls).map(([name, call]) => [
        name,
        async (...given: unknown[]) => {
          count += 1;
          const own = count;
          for (let turn = name === 'store' ? slowness * 4 : (own * slowness) % 7; turn > 0; turn -= 1) await nextTurn();
          const isHit = own === nth;
          if ((isHit && !isAfter) || (ends && count > nth)) throw unavailable('the replica has ended');
          const reply: unknown = await (call as (...all: unknown[]) => Promise<unknown>)(...given);
          if (isHit) throw unavailable('the reply was lost');
          return reply;
        },
      ]),
    ) as T;
  return { ...parts, threads: guard(parts.threads), memory: guard(parts.memory) };
}

interface Failure {
  readonly nth: number;
  readonly isAfter: boolean;
  readonly ends: boolean;
  readonly slowness: number;
}

const step = fc.record({
  key: fc.constantFrom(...keys),
  text: fc.option(fc.constantFrom('tea', 'rain'), { nil: undefined }),
  isIndexed: fc.boolean(),
  failure: fc.record({
    nth: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 14 })),
    isAfter: fc.boolean(),
    ends: fc.boolean(),
    slowness: fc.oneof(fc.constant(0), fc.nat(20)),
  }),
});

test('whatever replicas end in the middle of, each item has its memory once the notes are settled, and there is no other', async (t) => {
  const play = async (rounds: readonly (readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[])[]) => {
    await using store = openSqliteThreadStore({ path: ':memory:' });
    const threads = createThreads({ store });
    const memory = createMemories();
    const log = { warn: () => undefined, error: () => undefined };
    const { getResource, putResource, deleteResource, listResources, listResourceMarks } = threads;
    const calls = { getResource, putResource, deleteResource, listResources, listResourceMarks };
    const parts: ItemParts = { threads: calls, memory, log };
    for (const round of rounds)
      await Promise.all(
        round.map(async ({ key, text, isIndexed, failure }) => {
          const replica = failingAt(parts, failure);
          const place = { owner, call: () => within(5000), namespace, key };
          const change =
            text === undefined
              ? deleteItem(replica, place)
              : putItem(replica, { ...place, value: { text }, ...(isIndexed && { index: ['text'] }) });
          await change.catch(() => undefined);
        }),
      );
    const list = { kind: 'item_memory', owner, limit: 1000 } as const;
    for (const note of (await threads.listResources(list, within(5000))).resources)
      await settleNote(parts, note, noteOf(note), within(5000));
    t.deepEqual((await threads.listResources(list, within(5000))).resources, []);
    const { resources } = await threads.listResources({ kind: 'item', owner, limit: 1000 }, within(5000));
    const named = resources.flatMap(({ json }) => {
      const { memory: id, value } = JSON.parse(Buffer.from(json).toString()) as {
        readonly memory?: string;
        readonly value: { readonly text: string };
      };
      return id === undefined ? [] : [[id, value.text] as const];
    });
    t.deepEqual(new Map([...memory.kept].toSorted()), new Map(named.toSorted()));
  };
  await fc.assert(fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 6 }), play), {
    numRuns: 300,
  });
});
