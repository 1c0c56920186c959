import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExecutionContext, TestFn } from 'ava';
import type { MemoryHead, MemoryRecord, OwnedMemory } from '@agent-workflow/memory/ports/memory';
import type { ListPosition, ListQuery } from '@agent-workflow/memory/ports/records';
import type { VectorQuery } from '@agent-workflow/memory/ports/search';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';

const owner = 'u:ada';
/** More than any store reads at once with metadata. */
const count = 280;
const memoryIds = Array.from({ length: count }, (_, n) => `m${String(n).padStart(4, '0')}`);
const threadOf = (place: number): string => `t${String(place % 2)}`;
const ofThread = memoryIds.filter((_, place) => threadOf(place) === 't1');

function toMemory(place: number, version: number): MemoryRecord {
  const angle = place + version / 1000;
  const vector = [Math.cos(angle), Math.sin(angle), 0, 0];
  return {
    memoryId: memoryIds[place] ?? '',
    content: `note ${String(version)}`,
    memoryType: 'semantic',
    category: 'notes',
    threadId: threadOf(place),
    timestamp: 1000 + place,
    metadataJson: Buffer.from('{"kind":"note"}'),
    vectorJson: Buffer.from(JSON.stringify(vector)),
    vector: Float32Array.from(vector),
  };
}

const everything = (): OwnedMemory[] => memoryIds.map((_, place) => ({ owner, memory: toMemory(place, 0) }));

const updaters = 8;

/** Replaces memories at random places, eight at a time, until it is disposed of. */
function updating(store: MemoryStore, { isMoving = false } = {}) {
  const versions = new Map<string, number>();
  let isOver = false;
  const update = async (first: number): Promise<void> => {
    for (let version = 1; !isOver; version += 1) {
      await nextTurn();
      const place = first + updaters * Math.floor((Math.random() * count) / updaters);
      const memory = toMemory(place, version);
      const moved = isMoving ? { ...memory, timestamp: Date.now() } : memory;
      if (await store.update(owner, memory.memoryId, () => moved)) versions.set(memory.memoryId, version);
    }
  };
  const all = Promise.all(Array.from({ length: updaters }, async (_, first) => update(first)));
  return {
    /** The last acknowledged version of each memory. */
    versions,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await all;
    },
  };
}

/** How often each thing is read during updates. */
const rounds = 16;

/** What a store must promise of its reads while memories are updated: none of them is missed. `open` gives an empty store. */
export function memoryUpdatesContract(test: TestFn, name: string, open: () => Promise<MemoryStore>): void {
  const withStore = (title: string, run: (t: ExecutionContext, store: MemoryStore) => Promise<void>): void => {
    test.serial(`${name}: ${title}`, async (t) => {
      t.timeout(240_000);
      await using store = await open();
      await store.load(everything());
      await run(t, store);
    });
  };
  /** What is missing, so that a failure says how much it is. */
  const missing = (found: Iterable<string>, expected: readonly string[] = memoryIds): string[] =>
    expected.filter((id) => !new Set(found).has(id));
  const idsOf = (heads: readonly Pick<MemoryHead, 'memoryId'>[]): string[] => heads.map(({ memoryId }) => memoryId);

  const readsDuring = (title: string, read: (store: MemoryStore) => Promise<string[]>, isMoving = false): void => {
    withStore(`${title} has every memory that was there before and after, while eight update`, async (t, store) => {
      await using _ = updating(store, { isMoving });
      const short: string[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const missed = missing(await read(store));
        if (missed.length > 0) short.push(`round ${String(round)} misses ${String(missed.length)}`);
      }
      t.deepEqual(short, []);
    });
  };

  readsDuring('an export', async (store) => (await Array.fromAsync(store.scan())).map(({ memory }) => memory.memoryId));

  const all: ListQuery = { owner, narrowing: {}, limit: Infinity };
  const list =
    (query: Partial<ListQuery>) =>
    async (store: MemoryStore): Promise<string[]> =>
      idsOf((await store.list({ ...all, ...query })).heads);
  readsDuring('a list', list({ limit: 1000, without: 'metadata' }));
  readsDuring('a list of memories that move to the front', list({ without: 'metadata' }), true);
  readsDuring('a list with its metadata', list({}));
  readsDuring('a list with its metadata of memories that move to the front', list({}), true);
  readsDuring('a list that a filter narrows', list({ narrowing: { category: 'notes' }, without: 'metadata' }));
  readsDuring('a list by a filter that the store does not know', list({ accepts: ({ threadId }) => threadId !== '' }));

  readsDuring('a list by such a filter of memories that move to the front', list({ accepts: () => true }), true);

  readsDuring('a list read by pages, each by the cursor of the one before,', async (store) => {
    const heads: MemoryHead[] = [];
    for (let after: ListPosition | undefined; ; after = heads.at(-1)) {
      const page = await store.list({ ...all, limit: 50, after, without: 'metadata' });
      heads.push(...page.heads);
      if (page.heads.length < 50) return idsOf(heads);
    }
  });

  readsDuring('a list read by pages of an offset', async (store) => {
    const heads: MemoryHead[] = [];
    for (let offset = 0; offset < count; offset += 70)
      heads.push(...(await store.list({ ...all, narrowing: { category: 'notes' }, limit: 70, offset })).heads);
    return idsOf(heads);
  });

  withStore('a list counts the memories that pass, while eight update', async (t, store) => {
    await using _ = updating(store);
    for (let round = 0; round < rounds; round += 1) {
      t.is((await store.list({ ...all, limit: 1 })).total, count);
      t.is((await store.list({ ...all, narrowing: { threadId: 't1' }, limit: 1 })).total, ofThread.length);
      t.is((await store.list({ ...all, accepts: () => true, limit: 1 })).total, count);
    }
  });

  const near: VectorQuery = {
    ...{ owner, narrowing: {}, limit: 1000, vector: Float32Array.from([1, 0, 0, 0]) },
    ...{ measure: 'dot', order: 'nearest' },
  };
  const search =
    (query: Partial<VectorQuery>) =>
    async (store: MemoryStore): Promise<string[]> =>
      idsOf((await store.findByVector({ ...near, ...query })).map(({ head }) => head));
  const filters = { narrowing: { category: 'notes' }, accepts: ({ threadId }: MemoryHead) => threadId !== '' };
  readsDuring('a search for the nearest', search({}));
  readsDuring('a search for the nearest with filters', search({ ...filters, limit: 400 }));
  readsDuring('a search by the Manhattan distance', search({ ...filters, measure: 'manhattan' }));
  readsDuring('a search for the newest with filters', search({ ...filters, order: 'newest' }), true);
  readsDuring('a search for the newest within a distance', search({ order: 'newest', maxDistance: 2 }));
  readsDuring('a search among named memories', search({ narrowing: { memoryIds: new Set(memoryIds) } }));
  readsDuring('a search by keywords with filters', async (store) =>
    idsOf((await store.findByKeywords({ owner, text: 'note', ...filters, limit: 1000 })).map(({ head }) => head)),
  );

  readsDuring('a read by ids', async (store) => idsOf(await store.get(owner, memoryIds)));
  readsDuring('a list of ids', list({ narrowing: { memoryIds: new Set(memoryIds) } }));

  for (const [title, narrowing, expected] of [
    ['forgetting all', { category: 'notes' }, memoryIds],
    ['forgetting those of a thread', { threadId: 't1' }, ofThread],
  ] as const) {
    withStore(`${title} leaves none of them, while eight update`, async (t, store) => {
      for (let round = 0; round < 6; round += 1) {
        await store.load(everything());
        {
          await using _ = updating(store, { isMoving: true });
          const { heads } = await store.list({ ...all, narrowing, without: 'metadata' });
          t.deepEqual(missing(idsOf(heads), expected), []);
          t.is((await store.remove(owner, idsOf(heads))).count, expected.length);
          t.deepEqual(idsOf((await store.list({ ...all, narrowing })).heads), []);
        }
        t.deepEqual(idsOf((await store.list({ ...all, narrowing })).heads), []);
        t.deepEqual(idsOf(await store.get(owner, expected)), []);
        t.is((await store.list(all)).total, count - expected.length);
      }
    });
  }

  withStore('an import changes no memory that exists, while eight update', async (t, store) => {
    const updates = updating(store);
    {
      await using _ = updates;
      for (let round = 0; round < rounds; round += 1) t.is(await store.load(everything()), 0);
    }
    const stored = new Map((await store.get(owner, memoryIds)).map(({ memoryId, content }) => [memoryId, content]));
    for (const memoryId of memoryIds) {
      const version = updates.versions.get(memoryId) ?? 0;
      t.is(stored.get(memoryId), `note ${String(version)}`, memoryId);
    }
  });
}
