import type { Weaviate, FoundObject, Home } from './weaviate-client.ts';
import type { Marks } from './weaviate-marks.ts';
import { findRows, type Row, type Where } from './weaviate-queries.ts';

interface RepairOptions {
  readonly weaviate: Weaviate;
  readonly marks: Marks;
  readonly collection: string;
  /** By the server's clock: milliseconds since 1970 UTC. */
  readonly since: number;
}

/**
 * Puts everything again that was written since, so that it stands in the index. A tenant at rest is whole: only those that are awake
 * are looked at.
 * @returns how many memories were put again.
 */
export async function repairIndex({ weaviate, marks, collection, since }: RepairOptions): Promise<number> {
  let count = 0;
  const tenants = (await weaviate.listTenants(collection)).filter(({ isHot }) => isHot);
  await eachOf(tenants, async ({ name }) => {
    const home = { collection, tenant: name };
    const ids = await writtenSince(weaviate, home, since);
    await eachOf(ids, (id) => putAgain({ weaviate, marks, home }, id));
    count += ids.length;
  });
  return count;
}

async function writtenSince(weaviate: Weaviate, home: Home, since: number): Promise<string[]> {
  const ids: string[] = [];
  for (let from = since; ;) {
    const rows = await findRows(weaviate, {
      home,
      limit: rowsAtOnce,
      fields: '_additional { id lastUpdateTimeUnix }',
      where: isWrittenSince(from),
      sort: { path: '_lastUpdateTimeUnix', order: 'asc' },
    });
    const found = rows.map(toWritten);
    ids.push(...found.map(({ id }) => id));
    const newest = found.at(-1)?.updatedAt ?? from;
    // Those of the last moment are found again: no more of one moment than fit a page, or it would never end.
    if (rows.length < rowsAtOnce || newest === from) return [...new Set(ids)];
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

interface Again extends Pick<RepairOptions, 'weaviate' | 'marks'> {
  readonly home: Home;
}

async function putAgain({ weaviate, marks, home }: Again, id: string): Promise<void> {
  await marks.hold(id, async () => {
    const found = await weaviate.find(home, id);
    if (found) await weaviate.replace({ ...home, id, ...nudged(found) });
  });
}

/**
 * Weaviate leaves the index alone when an object comes again as it stands, so the vector becomes longer or shorter by a millionth,
 * in turns. The index goes by angle: to it nothing changed.
 */
function nudged({
  properties,
  vector,
}: FoundObject): Pick<Parameters<Weaviate['replace']>[0], 'properties' | 'vector'> {
  const length = Math.hypot(...vector);
  const scale = length > 1 ? (1 - 1e-6) / length : (1 + 1e-6) / length;
  const kept = Object.entries(properties).filter(([, value]) => value !== null && value !== undefined);
  return {
    properties: Object.fromEntries(kept) as Parameters<Weaviate['replace']>[0]['properties'],
    vector: Float32Array.from(vector, (value) => (length === 0 ? value : value * scale)),
  };
}

/** At most `atOnce` at a time. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>, atOnce = 8): Promise<void> {
  const rest = items.values();
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (const item of rest) await work(item);
  });
  await Promise.all(workers);
}
