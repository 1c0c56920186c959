import { setTimeout as wait } from 'node:timers/promises';
import { every } from '@agent-workflow/kit/life';
import { unavailable } from '@agent-workflow/kit/errors';
import { toRemoved, toUpdated } from '../../record/outcomes.ts';
import type {
  EmbedderIdentity,
  MemoryStore,
  OwnedMemory,
  RemovedMemories,
  SentRequest,
  StoredMemory,
  UpdatedMemory,
} from '../../ports/port.ts';
import { createWeaviate, type Home, type NewObject, type Weaviate, type WeaviatePlace } from './client.ts';
import { createKeyLock } from './key-lock.ts';
import { bareIdsAtOnce, eachById, listMemories, rowsByIds } from './lists.ts';
import { openMarks, type Marks } from './marks.ts';
import { headFields, memoryFields, objectId, tenantOf, toObject, toOwned, toStored } from './objects.ts';
import { openPresence } from './presence.ts';
import { countRows, walk } from './queries.ts';
import { openRequests, requestId, type Removal, type Requests, type StampedRequest } from './requests.ts';
import { openSchema } from './schema.ts';
import { findByVector, findByWords } from './search.ts';
import { requestOfStamp, requestStamp } from './stamps.ts';
import { createTenants } from './tenants.ts';
import { openWatch, type Watch } from './watch.ts';

export interface WeaviateMemoryStoreOptions extends WeaviatePlace {
  /** What the names of our collections begin with: a capital, then letters and digits. */
  readonly prefix: string;
  /** Whose vectors these are: a collection written by another is refused. */
  readonly embedder: EmbedderIdentity;
  /** After so long without use an owner's memories leave Weaviate's working memory. */
  readonly idleMs: number;
  /** Told of every check of the index after a restart, with the number of memories that were put again. */
  readonly onRepair?: (count: number) => void;
  /** Told of what fails in the background. */
  readonly onFailure?: (error: unknown) => void;
}

export interface WeaviateMemoryStore extends MemoryStore {
  /** Resolves when searches find everything. */
  readonly settled: Watch['settled'];
}

/**
 * Memories in Weaviate: one collection, a tenant for each owner. What is nearest is exact, by steps aside; the README says what is
 * promised and what is not.
 * @throws Unavailable when Weaviate is away, or its memories are being copied.
 * @throws ConfigError when it holds memories of another embedder, or of a newer version.
 */
export async function openWeaviateMemoryStore(options: WeaviateMemoryStoreOptions): Promise<WeaviateMemoryStore> {
  const { prefix, embedder, idleMs, onRepair = () => undefined, onFailure = () => undefined } = options;
  await using opened = new AsyncDisposableStack();
  let suspect = (): void => undefined;
  const weaviate = await createWeaviate({
    ...options,
    onFailure: () => {
      suspect();
    },
  });
  const marks = await openMarks(weaviate, `${prefix}Marks`);
  const presence = await openPresence(marks, 'serving', { unless: ['copying'], onFailure });
  if (!presence) throw unavailable('the memories are being copied');
  opened.use(presence);
  const { collection } = await openSchema({ weaviate, marks, prefix, embedder });
  const watch = opened.use(await openWatch({ weaviate, marks, collection, onRepair, onFailure }));
  ({ suspect } = watch);
  const tenants = createTenants({ weaviate, collection, idleMs });
  opened.use(every(Math.min(idleMs, restEveryMs), tenants.restIdle, onFailure));

  const requests = await openRequests({ weaviate, collection: `${prefix}Requests` });
  opened.use(every(expireEveryMs, requests.expire, onFailure));

  const everything = opened.move();
  const store = createStore({ weaviate, marks, requests, collection, watch, use: tenants.use });
  return { ...store, settled: watch.settled, [Symbol.asyncDispose]: async () => everything.disposeAsync() };
}

const restEveryMs = 60_000;
const expireEveryMs = 60_000;

interface Parts {
  readonly weaviate: Weaviate;
  readonly marks: Marks;
  readonly requests: Requests;
  readonly collection: string;
  readonly watch: Pick<Watch, 'incompleteSince'>;
  readonly use: <T>(tenant: string, work: () => Promise<T>) => Promise<T>;
}

function createStore({
  weaviate,
  marks,
  requests,
  collection,
  watch,
  use,
}: Parts): Omit<MemoryStore, keyof AsyncDisposable> {
  // What depends on what stands is done one after the other in this process; `update` holds the key among all processes.
  const inTurn = createKeyLock();
  const homeOf = (owner: string): Home => ({ collection, tenant: tenantOf(owner) });
  const within = async <T>(owner: string, work: (home: Home) => Promise<T>): Promise<T> =>
    use(tenantOf(owner), () => work(homeOf(owner)));

  const findStored = async (home: Home, ids: readonly string[]): Promise<Map<string, StoredMemory>> => {
    const [only, ...others] = ids;
    if (only !== undefined && others.length === 0) {
      const found = await weaviate.find(home, only);
      return new Map(found ? [[only, toStored(found.properties)]] : []);
    }
    const rows = await rowsByIds(weaviate, { home, ids, fields: `${memoryFields} _additional { id }` });
    return new Map(rows.map((row) => [(row['_additional'] as { id: string }).id, toStored(row)]));
  };

  const keepUpdated = async (last: StampedRequest, memory: StoredMemory): Promise<void> => {
    if (last.until > Date.now()) await requests.keepUpdated(last, toUpdated(memory));
  };

  /** Those of the memories that are there. What the last update of one came to is written down, because it goes with the memory. */
  const findStanding = async (home: Home, owner: string, memoryIds: readonly string[]): Promise<string[]> => {
    const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
    const there = new Set<string>();
    for await (const row of eachById(weaviate, { home, ids, fields: `${headFields} stamp _additional { id }` })) {
      there.add((row['_additional'] as { id: string }).id);
      const last = requestOfStamp(row['stamp']);
      if (last) await keepUpdated(last, toStored(row));
    }
    return memoryIds.filter((_, place) => there.has(ids[place] ?? ''));
  };

  const removeNow = async (home: Home, owner: string, memoryIds: readonly string[]): Promise<RemovedMemories> => {
    const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
    const gone = await removeAll(weaviate, home, ids);
    return toRemoved(memoryIds.filter((_, place) => gone.has(ids[place] ?? '')));
  };

  const removeOnce = async (
    home: Home,
    { owner, request, removal }: { readonly owner: string; readonly request: SentRequest; readonly removal: Removal },
  ): Promise<RemovedMemories> => {
    if (removal.isDone) return removal.removed;
    for await (const memoryIds of removal.memoryIds()) await removeNow(home, owner, memoryIds);
    await requests.endRemoval(owner, request);
    return removal.removed;
  };

  return {
    put: async (owner, memory) => {
      const object = toObject(collection, { owner, memory });
      return inTurn([object.id], async () => within(owner, async () => putNew(weaviate, object)));
    },

    update: async (owner, memoryId, change, request) => {
      const id = objectId(owner, memoryId);
      const replace = async (home: Home, isHeld: () => boolean): Promise<UpdatedMemory | undefined> => {
        const found = await weaviate.find(home, id);
        const last = requestOfStamp(found?.properties['stamp']);
        if (found && request && isOf(last, owner, request)) return toUpdated(toStored(found.properties));
        const kept = request && (await requests.findUpdated(owner, request));
        if (kept || !found) return kept;
        const standing = toStored(found.properties);
        const memory = change(standing);
        if (last) await keepUpdated(last, standing);
        if (!isHeld()) throw unavailable('the memory is being changed by others');
        const object = toObject(collection, { owner, memory }, request && requestStamp(owner, request));
        return (await weaviate.replace(object)) ? toUpdated(memory) : undefined;
      };
      return inTurn([id], async () =>
        within(owner, async (home) => marks.hold(id, async (isHeld) => replace(home, isHeld))),
      );
    },

    findUpdated: requests.findUpdated,

    get: async (owner, memoryIds) =>
      within(owner, async (home) => {
        const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
        const known = await findStored(home, ids);
        return ids.flatMap((id) => known.get(id) ?? []);
      }),

    remove: async (owner, memoryIds, request) => {
      const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
      const keys = request ? [requestId(owner, request), ...ids] : ids;
      return inTurn(keys, async () =>
        within(owner, async (home) => {
          const known = request && (await requests.findRemoval(owner, request));
          if (known?.isDone) return known.removed;
          const standing = known ? [] : await findStanding(home, owner, memoryIds);
          if (!request) return removeNow(home, owner, standing);
          const removal = known ?? (await requests.beginRemoval(owner, request, standing));
          return removeOnce(home, { owner, request, removal });
        }),
      );
    },

    list: async (query) => within(query.owner, async (home) => listMemories(weaviate, home, query)),

    findByVector: async (query) => within(query.owner, async (home) => findByVector(weaviate, home, query)),

    findByWords: async (query) => within(query.owner, async (home) => findByWords(weaviate, home, query)),

    incompleteSince: watch.incompleteSince,

    scan: () => scanAll(weaviate, { collection, use }),

    load: async (memories) => loadOwners(weaviate, { collection, use }, memories),
  };
}

const isOf = (last: StampedRequest | undefined, owner: string, request: SentRequest): boolean =>
  last?.id === requestId(owner, request) && last.until > request.at;

/** How long a write is tried again whose outcome was not told. */
const tryAgainMs = 1000;
const pauseMs = 100;

async function putNew(weaviate: Weaviate, object: NewObject): Promise<boolean> {
  const giveUpAt = Date.now() + tryAgainMs;
  for (;;) {
    try {
      if (await weaviate.create(object)) return true;
      const isOurs = (await weaviate.find(object, object.id))?.properties['stamp'] === object.properties['stamp'];
      await mendTorn(weaviate, object);
      return isOurs;
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await wait(pauseMs);
    }
  }
}

/**
 * An object whose write a crash cut in the middle may stand there without being found by what it is filtered by. Nobody was told
 * that it is stored, so the attempt that comes again takes its place.
 */
async function mendTorn(weaviate: Weaviate, object: NewObject): Promise<void> {
  const where = { operator: 'Equal', path: ['idHex'], valueText: String(object.properties['idHex']) } as const;
  if ((await countRows(weaviate, { home: object, where })) > 0) return;
  await weaviate.removeMany(object, [object.id]);
  await weaviate.create(object);
}

/** How many ids one request names. */
const idsAtOnce = 1000;

/** Removes the objects and looks whether they are gone; gives the ids of those that were there. */
async function removeAll(weaviate: Weaviate, home: Home, ids: readonly string[]): Promise<Set<string>> {
  const gone = new Set<string>();
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const chunk = ids.slice(from, from + idsAtOnce);
    for (let left = chunk; left.length > 0;) {
      for (const id of await weaviate.removeMany(home, left)) gone.add(id);
      const rows = await rowsByIds(weaviate, { home, ids: left, fields: '_additional { id }', atOnce: bareIdsAtOnce });
      left = rows.map((row) => (row['_additional'] as { id: string }).id);
    }
  }
  return gone;
}

/** How many objects, with their vectors, one request carries. */
const objectsAtOnce = 50;

/** A collection, and how its tenants are used. */
type Place = Pick<Parts, 'collection' | 'use'>;

/** Every memory of a collection, read from the objects alone, whatever became of their indexes. */
export async function* scanAll(weaviate: Weaviate, { collection, use }: Place): AsyncGenerator<OwnedMemory> {
  for (const { name: tenant } of await weaviate.listTenants(collection)) {
    const objects = walk(weaviate, { collection, tenant }, objectsAtOnce);
    for (;;) {
      const next = await use(tenant, async () => objects.next());
      if (next.done) break;
      yield toOwned(next.value);
    }
  }
}

/** Adds those that are not there yet; gives how many. */
export async function loadOwners(
  weaviate: Weaviate,
  { collection, use }: Place,
  memories: readonly OwnedMemory[],
): Promise<number> {
  let count = 0;
  for (const [owner, owned] of Map.groupBy(memories, (each) => each.owner)) {
    const home = { collection, tenant: tenantOf(owner) };
    count += await use(home.tenant, async () => loadOwned(weaviate, home, owned));
  }
  return count;
}

/** Adds those that are not there yet. The last one goes alone: a single write brings to disk what a batch left in memory. */
async function loadOwned(weaviate: Weaviate, home: Home, owned: readonly OwnedMemory[]): Promise<number> {
  const objects = owned.map((each) => toObject(home.collection, each));
  const unique = new Map(objects.map((object) => [object.id, object]));
  const standing = await rowsByIds(weaviate, {
    home,
    ids: [...unique.keys()],
    fields: '_additional { id }',
    atOnce: bareIdsAtOnce,
  });
  for (const row of standing) unique.delete((row['_additional'] as { id: string }).id);
  const fresh = [...unique.values()];
  const last = fresh.pop();
  for (let from = 0; from < fresh.length; from += objectsAtOnce) {
    await weaviate.putMany(fresh.slice(from, from + objectsAtOnce));
  }
  if (last) await weaviate.create(last);
  return unique.size;
}
