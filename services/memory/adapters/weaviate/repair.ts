import { setTimeout as wait } from 'node:timers/promises';
import { eachOf } from '@agent-workflow/kit/each';
import { unavailable } from '@agent-workflow/kit/errors';
import type { NewObject, Properties, Weaviate } from './client.ts';
import { rowsByIds } from './lists.ts';
import { keysAtOnce, type Marks } from './marks.ts';
import { objectFields } from './objects.ts';
import { findRows, type Row, type Where } from './queries.ts';
import { isRepaired, repairStamp } from './stamps.ts';

interface RepairOptions {
  readonly weaviate: Weaviate;
  readonly marks: Marks;
  readonly collection: string;
  /** By the server's clock: milliseconds since 1970 UTC. */
  readonly since: number;
  /**
   * Names this repair. An object that was put again carries it until its next write, so that whoever goes on with the repair, after
   * a failure or in place of a process that died, leaves that object alone.
   */
  readonly epoch: string;
}

/**
 * Puts everything again that was written since, so that it stands in the index. A tenant at rest is whole: only those that are awake
 * are looked at.
 * @returns how many memories were put again.
 */
export async function repairIndex(options: RepairOptions): Promise<number> {
  const { weaviate, collection } = options;
  let count = 0;
  const tenants = (await weaviate.listTenants(collection)).filter(({ isHot }) => isHot);
  await eachOf(tenants, tenantsAtOnce, async ({ name }) => {
    count += await repairTenant(options, { collection, tenant: name });
  });
  return count;
}

const tenantsAtOnce = 4;

/** A home with a tenant. */
interface Place {
  readonly collection: string;
  readonly tenant: string;
}

async function repairTenant(options: RepairOptions, home: Place): Promise<number> {
  let count = 0;
  let left = await writtenSince(options, home);
  for (let tries = 0; left.length > 0; tries += 1) {
    if (tries === maxTries) throw unavailable('memories are being changed by others');
    if (tries > 0) await wait(pauseMs);
    const chunks = Array.from({ length: Math.ceil(left.length / keysAtOnce) }, (_, n) =>
      left.slice(n * keysAtOnce, (n + 1) * keysAtOnce),
    );
    const missed: string[] = [];
    await eachOf(chunks, chunksAtOnce, async (chunk) => {
      const done = await putAgain(options, home, chunk);
      count += done.size;
      missed.push(...chunk.filter((id) => !done.has(id)));
    });
    left = missed;
  }
  return count;
}

/** A key that others hold is free again in well under a second; one of a process that died is waited for by the next repair. */
const maxTries = 20;
const pauseMs = 100;
const chunksAtOnce = 2;

/** The ids of what was written since, less what this repair has put again. */
async function writtenSince({ weaviate, since, epoch }: RepairOptions, home: Place): Promise<string[]> {
  const ids = new Set<string>();
  for (let from = since; ;) {
    const rows = await findRows(weaviate, {
      home,
      limit: rowsAtOnce,
      fields: 'stamp _additional { id lastUpdateTimeUnix }',
      where: isWrittenSince(from),
      sort: { path: '_lastUpdateTimeUnix', order: 'asc' },
    });
    for (const row of rows) if (!isRepaired(epoch, row['stamp'])) ids.add(toWritten(row).id);
    const last = rows.at(-1);
    const newest = last ? toWritten(last).updatedAt : from;
    // Those of the last moment are found again: no more of one moment than fit a page, or it would never end.
    if (rows.length < rowsAtOnce || newest === from) return [...ids];
    from = newest;
  }
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
 * Puts the objects again, one by one: a single write is in the index and on disk when it resolves. One that is gone by now counts
 * as done.
 * @returns the ids of those that nobody else was changing.
 */
async function putAgain(
  { weaviate, marks, epoch }: RepairOptions,
  home: Place,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return marks.holdFree(ids, async (free, isHeld) => {
    const done = new Set(free);
    if (free.length === 0) return done;
    const rows = await rowsByIds(weaviate, { home, ids: free, fields: objectFields });
    await eachOf(rows, writesAtOnce, async (row) => {
      const object = toNudged(row, home, epoch);
      if (isHeld()) await weaviate.replace(object);
      else done.delete(object.id);
    });
    return done;
  });
}

const writesAtOnce = 8;

/**
 * Weaviate leaves the index alone when an object comes again as it stands, so the vector becomes longer or shorter by a millionth,
 * in turns. The index goes by angle: to it nothing changed.
 */
function toNudged(row: Row, home: Place, epoch: string): NewObject {
  const { _additional, ...given } = row;
  const { id, vector } = _additional as { id: string; vector: readonly number[] | null };
  const values = vector ?? [];
  const length = Math.hypot(...values);
  const scale = length > 1 ? (1 - 1e-6) / length : (1 + 1e-6) / length;
  const kept = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  return {
    ...home,
    id,
    properties: { ...(Object.fromEntries(kept) as Properties), stamp: repairStamp(epoch, given['stamp']) },
    vector: Float32Array.from(values, (value) => (length === 0 ? value : value * scale)),
  };
}
