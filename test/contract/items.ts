import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  deleteItem,
  getItem,
  listNamespaces,
  noteOf,
  putItem,
  removeOver,
  searchItems,
  settleNote,
  type ItemParts,
} from '@agent-workflow/gateway/items';
import { notFound, unavailable } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Resource } from '@agent-workflow/protos/threads';
import { createThreads } from '@agent-workflow/threads/threads';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import type { TestedStore } from './thread-stores/tested.ts';

const owner = 'u:ada';
const call = () => within(60_000);
const of = { owner, call };
const minuteMs = 60_000;

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

/** The record and memories of a test, with a clock that it sets, in milliseconds. */
interface Ground extends ItemParts {
  readonly memory: ReturnType<typeof createMemories>;
  readonly pass: (ms: number) => void;
  /** Every object of one kind. */
  readonly all: (kind: Resource['kind']) => Promise<readonly Resource[]>;
  /** What was logged. */
  readonly logged: readonly string[];
}

function groundOn(store: ThreadStore): Ground {
  let clock = Date.now();
  const threads = createThreads({ store, now: () => clock });
  const { getResource, putResource, deleteResource, listResources, listResourceMarks } = threads;
  const logged: string[] = [];
  const note = (_: unknown, text?: string): void => void logged.push(text ?? '');
  return {
    threads: { getResource, putResource, deleteResource, listResources, listResourceMarks },
    memory: createMemories(),
    log: { warn: note, error: note },
    pass: (ms) => (clock += ms),
    all: async (kind) => (await listResources({ kind, owner, limit: 1000 }, call())).resources,
    logged,
  };
}

interface Failure {
  readonly nth: number;
  readonly isAfter: boolean;
  readonly ends: boolean;
  readonly slowness: number;
}

/** A replica of which the nth call fails, before or after it was made, and all that follow it where the replica ends there. Each call takes a while. */
function failingAt(parts: ItemParts, { nth, isAfter, ends, slowness }: Failure): ItemParts {
  let count = 0;
  const guard = <T extends object>(calls: T): T =>
    Object.fromEntries(
      Object.entries(calls).flatMap(([name, work]) =>
        typeof work === 'function'
          ? [
              [
                name,
                async (...given: unknown[]) => {
                  count += 1;
                  const own = count;
                  const turns = name === 'store' ? slowness * 4 : (own * slowness) % 7;
                  for (let turn = turns; turn > 0; turn -= 1) await nextTurn();
                  const isHit = own === nth;
                  if ((isHit && !isAfter) || (ends && count > nth)) throw unavailable('the replica has ended');
                  const reply: unknown = await (work as (...all: unknown[]) => Promise<unknown>)(...given);
                  if (isHit) throw unavailable('the reply was lost');
                  return reply;
                },
              ],
            ]
          : [],
      ),
    ) as T;
  return { ...parts, threads: guard(parts.threads), memory: guard(parts.memory) };
}

const step = fc.record({
  key: fc.constantFrom('a', 'b'),
  text: fc.option(fc.constantFrom('tea', 'rain'), { nil: undefined }),
  isIndexed: fc.boolean(),
  failure: fc.record({
    nth: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 14 })),
    isAfter: fc.boolean(),
    ends: fc.boolean(),
    slowness: fc.oneof(fc.constant(0), fc.nat(20)),
  }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Settles every note, as a sweep does. */
async function settleAll(ground: Ground): Promise<void> {
  for (const note of await ground.all('item_memory')) await settleNote(ground, note, noteOf(note), call());
}

async function play(t: ExecutionContext, ground: Ground, rounds: readonly (readonly Step[])[]): Promise<void> {
  /** What each version of each item held. */
  const held = new Map<string, string>();
  for (const round of rounds) {
    await Promise.all(
      round.map(async ({ key, text, isIndexed, failure }) => {
        const replica = failingAt(ground, failure);
        const place = { ...of, namespace: ['notes'], key };
        const change =
          text === undefined
            ? deleteItem(replica, place)
            : putItem(replica, { ...place, value: { text }, ...(isIndexed && { index: ['text'] }) });
        await change.catch(() => undefined);
      }),
    );
    for (const { id, version, json } of await ground.all('item')) {
      const before = held.get(`${id} ${String(version)}`);
      const now = Buffer.from(json).toString();
      t.is(before ?? now, now, 'an item that is made again has other versions than before');
      held.set(`${id} ${String(version)}`, now);
    }
    // The time of the record tells the versions apart; within a millisecond, 1 in 1,024 is the same.
    ground.pass(2);
  }
  await settleAll(ground);
  t.deepEqual(await ground.all('item_memory'), []);
  const named = (await ground.all('item')).flatMap(({ json }) => {
    const { memory, value } = JSON.parse(Buffer.from(json).toString()) as {
      readonly memory?: string;
      readonly value: { readonly text: string };
    };
    return memory === undefined ? [] : [[memory, value.text] as const];
  });
  t.deepEqual(new Map([...ground.memory.kept].toSorted()), new Map(named.toSorted()));
}

/** What items must promise on a store of threads. */
export function itemsContract(test: TestFn, { name, openPart }: TestedStore, numRuns: number): void {
  const check = (title: string, body: (t: ExecutionContext, ground: Ground) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using store = await openPart();
      await body(t, groundOn(store));
    });
  };

  test(`${name}: whatever replicas end in the middle of, each item has its memory once the notes are settled, and there is no other`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 6 }), async (rounds) => {
        await using store = await openPart();
        await play(t, groundOn(store), rounds);
      }),
      { numRuns },
    );
  });

  check('an item stands though there are no memories just now, and has its memory later', async (t, ground) => {
    const away = { ...ground, memory: { ...ground.memory, store: () => Promise.reject(unavailable('no embedder')) } };
    const place = { ...of, namespace: ['a'], key: 'k' };
    await putItem(away, { ...place, value: { text: 'tea' }, index: ['$'] });
    t.like(await getItem(ground, { ...place, refreshes: false }), { value: { text: 'tea' } });
    t.deepEqual(ground.logged, ['the memory of an item is not as the item says; a sweep tries again']);
    const [note] = await ground.all('item_memory');
    t.true((note?.dueAt ?? 0) > (note?.createdAt ?? 0) + 59_000);
    await settleAll(ground);
    t.deepEqual([...ground.memory.kept.values()], ['{"text":"tea"}']);
    await deleteItem(ground, place);
    t.is(ground.memory.kept.size, 0);
    t.deepEqual([...(await ground.all('item')), ...(await ground.all('item_memory'))], []);
  });

  check('an item is over by the clock of the record, and its memory goes with it', async (t, ground) => {
    const place = { ...of, namespace: ['a'], key: 'k' };
    await putItem(ground, { ...place, value: { text: 'tea' }, index: ['$'], ttl: 10 });
    const read = (refreshes: boolean) => getItem(ground, { ...place, refreshes });
    const first = await read(false);
    ground.pass(8 * minuteMs);
    t.deepEqual(await read(true), first);
    ground.pass(8 * minuteMs);
    t.deepEqual(await read(false), first);
    const search = { ...of, namespace: ['a'], limit: 10, offset: 0, refreshes: false };
    t.is((await searchItems(ground, search)).items.length, 1);
    ground.pass(2 * minuteMs);
    t.is(await read(true), undefined);
    t.deepEqual((await searchItems(ground, search)).items, []);
    t.deepEqual((await searchItems(ground, { ...search, passes: () => true })).items, []);
    const names = { ...of, prefix: [], suffix: [], limit: 10, offset: 0 };
    t.deepEqual((await listNamespaces(ground, names)).namespaces, []);
    const [over] = await ground.all('item');
    if (!over) return t.fail();
    await removeOver(ground, over, over.dueAt ?? 0, call());
    t.is(ground.memory.kept.size, 0);
    t.deepEqual([...(await ground.all('item')), ...(await ground.all('item_memory'))], []);
  });

  check('a slow sweep, read or delete leaves the item that was made again as it is', async (t, ground) => {
    const place = { ...of, namespace: ['a'], key: 'k' };
    const put = (text: string) => putItem(ground, { ...place, value: { text }, ttl: 10 });
    const read = () => getItem(ground, { ...place, refreshes: false });
    await put('old');
    const [over] = await ground.all('item');
    if (!over) return t.fail();
    ground.pass(11 * minuteMs);
    await put('new');
    await t.throwsAsync(removeOver(ground, over, over.dueAt ?? 0, call()), { message: /has another version/ });
    t.like(await read(), { value: { text: 'new' } });

    // While one reads, another removes the item and puts a new one.
    ground.pass(5 * minuteMs);
    let isFirst = true;
    const replaced = async (): Promise<void> => {
      if (!isFirst) return;
      isFirst = false;
      await deleteItem(ground, place);
      ground.pass(1);
      await put('newest');
    };
    const meanwhile = {
      ...ground.threads,
      listResourceMarks: async (...given: Parameters<Ground['threads']['listResourceMarks']>) => {
        await replaced();
        return ground.threads.listResourceMarks(...given);
      },
    };
    await getItem({ ...ground, threads: meanwhile }, { ...place, refreshes: true });
    t.like(await read(), { value: { text: 'newest' } });
  });

  check('a search by meaning says where the memory service left something out', async (t, ground) => {
    const search = { ...of, namespace: ['a'], query: 'tea', limit: 10, offset: 0, refreshes: false };
    t.false((await searchItems(ground, search)).isPartial);
    const memory = { ...ground.memory, search: () => Promise.resolve({ results: [], isCut: true }) };
    t.true((await searchItems({ ...ground, memory }, search)).isPartial);
  });

  check('items are found exactly: below a namespace, the newest first, by filter and in pages', async (t, ground) => {
    const places = [['a'], ['a', 'b'], ['a', '-'], ['ab'], ['a/'], ['é']];
    for (const [n, namespace] of places.entries()) {
      ground.pass(1);
      await putItem(ground, { ...of, namespace, key: `k${String(n)}`, value: { n } });
    }
    const keysOf = async (namespace: readonly string[], more: object = {}): Promise<string> => {
      const search = { ...of, namespace, limit: 10, offset: 0, refreshes: true, ...more };
      return (await searchItems(ground, search)).items.map(({ key }) => key).join(' ');
    };
    t.is(await keysOf([]), 'k5 k4 k3 k2 k1 k0');
    t.is(await keysOf(['a']), 'k2 k1 k0');
    t.is(await keysOf(['a'], { limit: 1, offset: 1 }), 'k1');
    t.is(await keysOf(['é']), 'k5');
    t.is(await keysOf([], { passes: (value: { n: number }) => value.n % 2 === 0, limit: 2 }), 'k4 k2');
    ground.pass(1);
    await putItem(ground, { ...of, namespace: ['a'], key: 'k0', value: { n: 0 } });
    t.is(await keysOf(['a']), 'k0 k2 k1');
    const names = { ...of, prefix: ['a'], suffix: [], limit: 10, offset: 0 };
    t.deepEqual((await listNamespaces(ground, names)).namespaces, [['a'], ['a', '-'], ['a', 'b']]);
    t.deepEqual((await listNamespaces(ground, { ...names, prefix: ['*'], maxDepth: 1 })).namespaces, [
      ...[['a'], ['a/'], ['ab'], ['é']],
    ]);
  });

  check('puts of one key at the same time all count, and the last one stays', async (t, ground) => {
    const place = { ...of, namespace: ['a'], key: 'k' };
    const versionOf = async (): Promise<number> => (await ground.all('item'))[0]?.version ?? NaN;
    await putItem(ground, { ...place, value: { n: -1 }, index: ['n'] });
    const first = await versionOf();
    await Promise.all(Array.from({ length: 8 }, (_, n) => putItem(ground, { ...place, value: { n }, index: ['n'] })));
    await settleAll(ground);
    const item = await getItem(ground, { ...place, refreshes: false });
    t.is(await versionOf(), first + 8);
    t.deepEqual([...ground.memory.kept.values()], [String(item?.value['n'])]);
  });
}
