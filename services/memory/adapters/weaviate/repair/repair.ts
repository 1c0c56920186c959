import { eachOf } from '@agent-workflow/kit/each';
import { unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { NewObject, Properties } from '../client/weaviate.ts';
import { rowsByIds, type Reads } from '../records/by-id.ts';
import { keysAtOnce } from '../marks/locks.ts';
import type { Marks } from '../marks/marks.ts';
import { objectFields } from '../objects/objects.ts';
import { countRows, findRows, type Row, type Where } from '../client/queries.ts';
import { isRepaired, repairStamp } from '../objects/stamps.ts';

interface RepairOptions {
  readonly reads: Reads;
  readonly marks: Marks;
  readonly collection: string;
  /** By the server's clock: milliseconds since 1970 UTC. */
  readonly since: number;
  /** What was written later is in the index. */
  readonly until: number;
  /**
   * Names this repair. It is in the stamp of each object that was put again, until its next write, so that a process that continues the
   * repair, after a failure or in place of one that died, skips that object.
   */
  readonly epoch: string;
}

/**
 * Puts everything again that was written since, so that it is in the index. An inactive tenant was written to disk whole, so only active
 * ones are read.
 * @returns how many memories were put again.
 */
export async function repairIndex(options: RepairOptions): Promise<number> {
  const {
    reads: { weaviate },
    collection,
  } = options;
  let count = 0;
  const tenants = (await weaviate.listTenants(collection)).filter(({ isActive }) => isActive);
  await eachOf(tenants, tenantsAtOnce, async ({ name }) => {
    count += await repairTenant(options, { collection, tenant: name });
  });
  return count;
}

const tenantsAtOnce = 4;

/** The memories of one tenant. */
interface TenantScope {
  readonly collection: string;
  readonly tenant: string;
}

async function repairTenant(options: RepairOptions, scope: TenantScope): Promise<number> {
  let count = 0;
  let left = await writtenSince(options, scope);
  const contended = unavailable('memories are being changed by others');
  const repairRest = async (): Promise<void> => {
    const chunks = Array.from({ length: Math.ceil(left.length / keysAtOnce) }, (_, n) =>
      left.slice(n * keysAtOnce, (n + 1) * keysAtOnce),
    );
    const missed: string[] = [];
    await eachOf(chunks, chunksAtOnce, async (chunk) => {
      const done = await putAgain(options, scope, chunk);
      count += done.size;
      missed.push(...chunk.filter((id) => !done.has(id)));
    });
    left = missed;
    if (left.length > 0) throw contended;
  };
  await retry(repairRest, { ...lockWaits, mayHelp: (error) => error === contended });
  return count;
}

/** A lock of another process is free again in well under a second. The next repair waits for one of a process that died. */
const lockWaits = { maxAttempts: 20, firstMs: 150, maxMs: 150 };
const chunksAtOnce = 2;

/** The ids of the objects written since, without those that this repair has put again. */
async function writtenSince(
  { reads: { weaviate }, since, until, epoch }: RepairOptions,
  scope: TenantScope,
): Promise<string[]> {
  const ids = new Set<string>();
  for (let from = since; from <= until;) {
    const rows = await findRows(weaviate, {
      scope,
      limit: rowsAtOnce,
      fields: 'stamp _additional { id lastUpdateTimeUnix }',
      where: isWrittenSince(from),
      sort: { path: '_lastUpdateTimeUnix', order: 'asc' },
    });
    for (const row of rows) if (!isRepaired(epoch, row['stamp'])) ids.add(toWritten(row).id);
    const last = rows.at(-1);
    const newest = last ? toWritten(last).updatedAt : from;
    // A page that is short is not the last one: an object that is being replaced drops out of it. That object needs no repair.
    if (rows.length === 0 && (await countRows(weaviate, { scope, where: isWrittenSince(from) })) === 0) return [...ids];
    // Objects of the last timestamp are found again, unless the page has no others.
    from = newest > from ? newest : from + 1;
  }
  return [...ids];
}

const rowsAtOnce = 5000;

const isWrittenSince = (ms: number): Where => ({
  operator: 'GreaterThanEqual',
  path: ['_lastUpdateTimeUnix'],
  valueText: String(ms),
});

function toWritten(row: Row): { readonly id: string; readonly updatedAt: number } {
  const { id, lastUpdateTimeUnix } = row['_additional'] as { id: string; lastUpdateTimeUnix: string };
  return { id, updatedAt: Number(lastUpdateTimeUnix) };
}

/**
 * Puts the objects again, one by one: a single write is in the index and on disk when it resolves. An object that was removed since
 * counts as done.
 * @returns the ids of the objects that no other process was changing.
 */
async function putAgain(
  { reads, marks, epoch }: RepairOptions,
  scope: TenantScope,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return marks.holdFree(ids, async (free, isHeld) => {
    const done = new Set(free);
    if (free.length === 0) return done;
    await reads.changes.announce(scope.tenant, { replaced: free });
    const rows = await rowsByIds(reads, { scope, ids: free, fields: objectFields });
    await eachOf(rows, writesAtOnce, async (row) => {
      const object = toNudged(row, scope, epoch);
      if (isHeld()) await reads.weaviate.replace(object);
      else done.delete(object.id);
    });
    return done;
  });
}

const writesAtOnce = 8;

/**
 * The object with its vector longer or shorter by a millionth, in turns, because Weaviate does not touch the index when an object is put
 * again unchanged. The index is by angle, so the object's distances stay.
 */
function toNudged(row: Row, scope: TenantScope, epoch: string): NewObject {
  const { _additional, ...given } = row;
  const { id, vector } = _additional as { id: string; vector: readonly number[] | null };
  const values = vector ?? [];
  const length = Math.hypot(...values);
  const scale = length > 1 ? (1 - 1e-6) / length : (1 + 1e-6) / length;
  const kept = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  return {
    ...scope,
    id,
    properties: { ...(Object.fromEntries(kept) as Properties), stamp: repairStamp(epoch, given['stamp']) },
    vector: Float32Array.from(values, (value) => (length === 0 ? value : value * scale)),
  };
}
