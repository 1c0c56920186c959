import type { StoredMemory } from '../../../ports/memory.ts';
import type { IdempotentRequest, RemovedMemories } from '../../../ports/records.ts';
import { toRemoved } from '../../../record/outcomes.ts';
import type { Scope } from '../client/weaviate.ts';
import { keysAtOnce, type Locks } from '../marks/locks.ts';
import type { Requests } from './idempotency.ts';
import { bareIdsAtOnce, eachById, idOf, rowsByIds, type Reads } from './by-id.ts';
import { headFields, objectId, toStored } from '../objects/objects.ts';
import { requestOfStamp, type StampedRequest } from '../objects/stamps.ts';

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
export function createRemove({ reads, locks, requests, keepUpdated }: RemoveParts): Remove {
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
