import type { MemoryBackup } from '../../ports/backup.ts';
import type { OwnedMemory } from '../../ports/memory.ts';
import type { Scope } from './client/weaviate.ts';
import { bareIdsAtOnce, idOf, isReadable, rowsByIds, toRow, type Reads } from './records/by-id.ts';
import type { Expiries } from './records/expiries.ts';
import { expiriesOf } from './records/records.ts';
import { tenantOf, toObject, toOwned } from './objects/objects.ts';
import { walk } from './client/queries.ts';
import type { UseTenant } from './objects/tenants.ts';

interface Parts {
  readonly reads: Reads;
  readonly expiries: Expiries;
  readonly collection: string;
  readonly use: UseTenant;
}

/** How many objects, with their vectors, one request reads or writes. */
const objectsAtOnce = 50;

/** Reads and writes the objects of a collection, whatever the state of its index. */
export const createBackup = (parts: Parts): MemoryBackup => ({
  scan: () => scanAll(parts),

  load: async (memories) => {
    const { reads, expiries, collection, use } = parts;
    await expiries.add(expiriesOf(memories));
    let count = 0;
    for (const [owner, owned] of Map.groupBy(memories, (each) => each.owner)) {
      const scope = { collection, tenant: tenantOf(owner) };
      count += await use(scope.tenant, async () => loadOwned(reads, scope, owned));
    }
    return count;
  },
});

async function* scanAll({ reads: { weaviate, onUnreadable }, collection, use }: Parts): AsyncGenerator<OwnedMemory> {
  for (const { name: tenant } of await weaviate.listTenants(collection)) {
    const objects = walk(weaviate, { collection, tenant }, objectsAtOnce);
    for (;;) {
      const next = await use(tenant, async () => objects.next());
      if (next.done) break;
      if (isReadable(toRow(next.value), onUnreadable)) yield toOwned(next.value);
    }
  }
}

/**
 * Adds the memories that do not exist; returns how many. The last one is written alone, because a single write brings to disk what a
 * batch left in Weaviate's memory.
 */
async function loadOwned(reads: Reads, scope: Scope, owned: readonly OwnedMemory[]): Promise<number> {
  const { weaviate } = reads;
  const objects = owned.map((each) => toObject(scope.collection, each));
  const missing = new Map(objects.map((object) => [object.id, object]));
  const existing = await rowsByIds(reads, {
    scope,
    ids: [...missing.keys()],
    fields: '_additional { id }',
    atOnce: bareIdsAtOnce,
  });
  for (const row of existing) missing.delete(idOf(row));
  const batched = [...missing.values()];
  const last = batched.pop();
  for (let from = 0; from < batched.length; from += objectsAtOnce) {
    await weaviate.putMany(batched.slice(from, from + objectsAtOnce));
  }
  if (last) await weaviate.create(last);
  return missing.size;
}
