import { unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { OwnedMemory, StoredMemory } from '../../../ports/memory.ts';
import type { IdempotentRequest, MemoryRecords, UpdatedMemory, RemovedMemories } from '../../../ports/records.ts';
import { isAlive } from '../../../record/order.ts';
import { toUpdated, toRemoved } from '../../../record/outcomes.ts';
import type { NewObject, Scope } from '../client/weaviate.ts';
import type { Expiries, Expiry } from './expiries.ts';
import type { Requests } from './idempotency.ts';
import { createKeyLock } from './key-lock.ts';
import { idOf, rowsByIds, bareIdsAtOnce, eachById, type Reads } from './by-id.ts';
import { listMemories } from './lists.ts';
import { keysAtOnce, type Locks } from '../marks/locks.ts';
import { memoryFields, objectId, tenantOf, toObject, toStored, headFields } from '../objects/objects.ts';
import { countRows } from '../client/queries.ts';
import { requestId, requestOfStamp, requestStamp, type StampedRequest } from '../objects/stamps.ts';
import type { UseTenant } from '../objects/tenants.ts';

interface RecordsParts {
  readonly reads: Reads;
  readonly locks: Locks;
  readonly requests: Requests;
  readonly expiries: Expiries;
  readonly collection: string;
  readonly use: UseTenant;
}

export function createRecords(parts: RecordsParts): MemoryRecords {
  const { reads, locks, requests, expiries, collection, use } = parts;
  const { weaviate, changes } = reads;
  // Within this process, writes of one memory run one after the other; `update` also holds its lock among all processes.
  const withKeyLocks = createKeyLock();
  const within = async <T>(owner: string, work: (scope: Scope) => Promise<T>): Promise<T> =>
    use(tenantOf(owner), () => work({ collection, tenant: tenantOf(owner) }));

  /** Keeps the outcome of the last update of a memory before the memory changes or goes. */
  const keepUpdated = async (last: StampedRequest, memory: StoredMemory): Promise<void> => {
    if (last.until > Date.now()) await requests.keepUpdated(last, toUpdated(memory));
  };

  const remove = createRemove({ reads, locks, requests, keepUpdated });

  /** Removes a memory, unless it is absent or has been made to expire later. */
  const removeDue = async ({ owner, memoryId }: Expiry, at: number): Promise<void> => {
    const id = objectId(owner, memoryId);
    await withKeyLocks([id], async () =>
      within(owner, async (scope) => {
        const found = await weaviate.find(scope, id);
        if (found && !isAlive(toStored(found.properties), at))
          await remove(scope, { owner, memoryIds: [memoryId], request: undefined });
      }),
    );
  };

  return {
    put: async (owner, memory) => {
      const object = toObject(collection, { owner, memory });
      await expiries.add(expiriesOf([{ owner, memory }]));
      return withKeyLocks([object.id], async () => within(owner, async () => putNew(parts, object)));
    },

    update: async (owner, memoryId, change, request) => {
      const id = objectId(owner, memoryId);
      const replace = async (scope: Scope, isHeld: () => boolean): Promise<UpdatedMemory | undefined> => {
        const [found] = await Promise.all([
          weaviate.find(scope, id),
          changes.announce(tenantOf(owner), { replaced: [id] }),
        ]);
        const last = requestOfStamp(found?.properties['stamp']);
        if (found && request && isOf(last, owner, request)) return toUpdated(toStored(found.properties));
        const kept = request && (await requests.findUpdated(owner, request));
        if (kept || !found) return kept;
        const stored = toStored(found.properties);
        const memory = change(stored);
        if (last) await keepUpdated(last, stored);
        await expiries.add(expiriesOf([{ owner, memory }]));
        if (!isHeld()) throw unavailable('the memory is being changed by others');
        const object = toObject(collection, { owner, memory }, request && requestStamp(owner, request));
        return (await weaviate.replace(object)) ? toUpdated(memory) : undefined;
      };
      return withKeyLocks([id], async () =>
        within(owner, async (scope) => locks.hold(id, async (isHeld) => replace(scope, isHeld))),
      );
    },

    findUpdated: requests.findUpdated,

    get: async (owner, memoryIds) =>
      within(owner, async (scope) => {
        const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
        const stored = await findStored(reads, scope, ids);
        return ids.flatMap((id) => stored.get(id) ?? []);
      }),

    remove: async (owner, memoryIds, request) => {
      const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
      const keys = request ? [requestId(owner, request), ...ids] : ids;
      return withKeyLocks(keys, async () =>
        within(owner, async (scope) => remove(scope, { owner, memoryIds, request })),
      );
    },

    list: async (query) => within(query.owner, async (scope) => listMemories(reads, scope, query)),

    removeExpired: async (at, onFailure) => expiries.settle(at, async (due) => removeDue(due, at), onFailure),
  };
}

/** Those of the memories that expire. */
export const expiriesOf = (memories: readonly OwnedMemory[]): Expiry[] =>
  memories.flatMap(({ owner, memory: { memoryId, expiresAt } }) =>
    expiresAt === undefined ? [] : [{ owner, memoryId, expiresAt }],
  );

const isOf = (last: StampedRequest | undefined, owner: string, request: IdempotentRequest): boolean =>
  last?.id === requestId(owner, request) && last.until > request.at;

/** The stored memories by their object ids. */
async function findStored(reads: Reads, scope: Scope, ids: readonly string[]): Promise<Map<string, StoredMemory>> {
  const [only, ...others] = ids;
  if (only !== undefined && others.length === 0) {
    const found = await reads.weaviate.find(scope, only);
    return new Map(found ? [[only, toStored(found.properties)]] : []);
  }
  const rows = await rowsByIds(reads, { scope, ids, fields: memoryFields });
  return new Map(rows.map((row) => [idOf(row), toStored(row)]));
}

/** How long a write with an unknown outcome is tried again. */
const writeAgainMs = 1000;

/** Adds an object; `false` when its id exists. An object with the same stamp was written by an earlier attempt of this call. */
async function putNew(parts: RecordsParts, object: NewObject): Promise<boolean> {
  const { weaviate } = parts.reads;
  const writeNew = async (): Promise<boolean> => {
    if (await weaviate.create(object)) return true;
    const isOwn = (await weaviate.find(object, object.id))?.properties['stamp'] === object.properties['stamp'];
    await replaceTorn(parts, object);
    return isOwn;
  };
  const waits = { firstMs: 150, maxMs: 150, deadline: Date.now() + writeAgainMs };
  return retry(writeNew, { ...waits, mayHelp: () => true });
}

/**
 * Replaces an object whose write was cut by a crash: it exists, but a query by its properties does not find it, also while nobody
 * updates it. Its write was never acknowledged, so the new attempt may take its place.
 */
async function replaceTorn({ reads: { weaviate }, locks }: RecordsParts, object: NewObject): Promise<void> {
  const where = { operator: 'Equal', path: ['idHex'], valueText: String(object.properties['idHex']) } as const;
  const isTorn = async (): Promise<boolean> => (await countRows(weaviate, { scope: object, where })) === 0;
  if (!(await isTorn())) return;
  await locks.hold(object.id, async () => {
    if (!(await isTorn())) return;
    await weaviate.removeMany(object, [object.id]);
    await weaviate.create(object);
  });
}

interface RemoveParts {
  readonly reads: Reads;
  readonly locks: Locks;
  readonly requests: Requests;
  /** Keeps the outcome of the last update of a memory, because its stamp goes with the memory. */
  readonly keepUpdated: (last: StampedRequest, memory: StoredMemory) => Promise<void>;
}

interface Removing {
  readonly owner: string;
  readonly memoryIds: readonly string[];
  readonly request: IdempotentRequest | undefined;
}

type Remove = (scope: Scope, removing: Removing) => Promise<RemovedMemories>;

/** Removes memories, those of a request exactly once. */
function createRemove({ reads, locks, requests, keepUpdated }: RemoveParts): Remove {
  /** The ids of the memories that exist. */
  const findExisting: (scope: Scope, removing: Removing) => Promise<string[]> = async (scope, { owner, memoryIds }) => {
    const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
    const existing = new Set<string>();
    for await (const row of eachById(reads, { scope, ids, fields: `${headFields} stamp` })) {
      existing.add(idOf(row));
      const last = requestOfStamp(row['stamp']);
      if (last) await keepUpdated(last, toStored(row));
    }
    return memoryIds.filter((_, index) => existing.has(ids[index] ?? ''));
  };

  const removeNow = async (scope: Scope, owner: string, memoryIds: readonly string[]): Promise<RemovedMemories> => {
    const ids = memoryIds.map((memoryId) => objectId(owner, memoryId));
    const removed = await removeAll({ reads, locks }, scope, ids);
    return toRemoved(memoryIds.filter((_, index) => removed.has(ids[index] ?? '')));
  };

  return async (scope, removing) => {
    const { owner, request } = removing;
    if (!request) return removeNow(scope, owner, await findExisting(scope, removing));
    const begun = await requests.findRemoval(owner, request);
    if (begun?.isDone) return begun.removed;
    const removal = begun ?? (await requests.beginRemoval(owner, request, await findExisting(scope, removing)));
    if (removal.isDone) return removal.removed;
    for await (const memoryIds of removal.memoryIds()) await removeNow(scope, owner, memoryIds);
    await requests.endRemoval(owner, request);
    return removal.removed;
  };
}

/** How many ids one request names. */
const idsAtOnce = 1000;

/** Removes the objects until none is found any more; returns the ids of those that existed. */
async function removeAll(
  { reads, locks }: Pick<RemoveParts, 'reads' | 'locks'>,
  scope: Scope,
  ids: readonly string[],
): Promise<Set<string>> {
  const { weaviate, changes } = reads;
  const { tenant = '' } = scope;
  const removed = new Set<string>();
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const chunk = ids.slice(from, from + idsAtOnce);
    await changes.announce(tenant, { removed: chunk.length });
    for (let existing = chunk; existing.length > 0;) {
      for (const id of await weaviate.removeMany(scope, existing)) removed.add(id);
      existing = (
        await rowsByIds(reads, { scope, ids: existing, fields: '_additional { id }', atOnce: bareIdsAtOnce })
      ).map(idOf);
    }
    const { replaced } = await changes.recent(tenant);
    const left = chunk.filter((id) => replaced.has(id));
    for (let at = 0; at < left.length; at += keysAtOnce)
      await removeReplaced({ reads, locks }, scope, left.slice(at, at + keysAtOnce));
  }
  return removed;
}

/** A replacement that another process began before the removal may end after it. The lock of its object is free when it has. */
async function removeReplaced(
  { reads: { weaviate }, locks }: Pick<RemoveParts, 'reads' | 'locks'>,
  scope: Scope,
  ids: readonly string[],
): Promise<void> {
  const held = await locks.holdFree(ids, async (free) => {
    await weaviate.removeMany(scope, free);
    return new Set(free);
  });
  for (const id of ids) if (!held.has(id)) await locks.hold(id, async () => weaviate.removeMany(scope, [id]));
}
