import type { MemoryHead } from '../../ports/memory.ts';
import type { StoreQuery } from '../../ports/query.ts';
import type { KeywordHit, KeywordQuery, Measure, VectorHit, VectorQuery } from '../../ports/search.ts';
import { bestScoreFirst, isWithin, nearestFirst, newestFirst } from '../../record/order.ts';
import { distancesFrom } from '../../vectors/distances.ts';
import { createTop } from '../../vectors/top.ts';
import { stemsOf } from '../../words/stems.ts';
import type { Scope, Weaviate } from './client/weaviate.ts';
import { headsAtOnce, newestRows, rowsByIds } from './records/lists.ts';
import { headFields, objectId, toHead, toWhere } from './objects/objects.ts';
import { allOf, findRows, hasId, maxResults, type Row } from './client/queries.ts';

/** How much the distance of one pair may differ from one request to the next. */
const rounding = 1e-6;
const vectorFields = `${headFields} _additional { vector }`;
const distanceFields = `${headFields} _additional { distance }`;
/** Objects that are read at once with their vectors, which are large. */
const vectorsAtOnce = 200;

export async function findByVector(weaviate: Weaviate, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  if (query.limit <= 0) return [];
  if (query.narrowing.memoryIds) return findAmongIds(weaviate, scope, query);
  const found =
    query.order === 'nearest' ? await nearest(weaviate, scope, query) : await newest(weaviate, scope, query);
  return found ?? scan(weaviate, scope, query);
}

/** The nearest memories by Weaviate's index. It reads more until enough pass; `undefined` when Weaviate returns no more. */
async function nearest(weaviate: Weaviate, scope: Scope, query: VectorQuery): Promise<VectorHit[] | undefined> {
  if (query.measure === 'manhattan') return nearestByManhattan(weaviate, scope, query);
  for (let limit = Math.min(query.limit + 16, maxResults); ; limit = Math.min(limit * 4, maxResults)) {
    const rows = await near(weaviate, scope, { query, limit, fields: distanceFields });
    const hits = rows.map((row) => ({ head: toHead(row), distance: distanceOf(row, query.measure) }));
    const furthest = hits.at(-1)?.distance ?? Infinity;
    const passing = hits.filter((hit) => passes(query, hit));
    const last = passing[query.limit - 1];
    // Hits as far away as the last one are ordered newest first, so all of them must be known.
    const isEnough = rows.length < limit || furthest > (query.maxDistance ?? Infinity) + rounding;
    if (isEnough || (last && furthest > last.distance + rounding)) {
      return (await exact(weaviate, scope, query, passing)).slice(0, query.limit);
    }
    if (limit >= maxResults) return undefined;
  }
}

/**
 * The index is by angle, so the nearest by Manhattan distance are chosen among many more that are nearest by angle. An owner with
 * no more than `leastCandidates` memories has them all compared.
 */
async function nearestByManhattan(
  weaviate: Weaviate,
  scope: Scope,
  query: VectorQuery,
): Promise<VectorHit[] | undefined> {
  const distanceTo = distancesFrom(query.vector, 'manhattan');
  for (let limit = Math.min(Math.max(query.limit * 10, leastCandidates), maxResults); ; limit = maxResults) {
    const rows = await near(weaviate, scope, { query, limit, fields: vectorFields });
    const top = createTop<VectorHit>(query.limit, nearestFirst);
    for (const row of rows) {
      const hit = { head: toHead(row), distance: distanceTo(vectorOf(row), 0) };
      if (top.wants(hit) && passes(query, hit)) top.add(hit);
    }
    if (rows.length < limit || top.items().length === query.limit) return top.items();
    if (limit >= maxResults) return undefined;
  }
}

const leastCandidates = 1000;

/**
 * The newest that pass; `undefined` when a scan is faster. When few memories are within `maxDistance`, the index finds them; when many
 * are, a scan from the newest one soon has enough.
 */
async function newest(weaviate: Weaviate, scope: Scope, query: VectorQuery): Promise<VectorHit[] | undefined> {
  if (query.maxDistance === undefined) return newestOfAll(weaviate, scope, query);
  if (query.measure === 'manhattan') return undefined;
  const rows = await near(weaviate, scope, { query, limit: fewNear, fields: distanceFields });
  const hits = rows.map((row) => ({ head: toHead(row), distance: distanceOf(row, query.measure) }));
  const furthest = hits.at(-1)?.distance ?? Infinity;
  if (rows.length === fewNear && furthest <= query.maxDistance + rounding) return undefined;
  const passing = hits.filter((hit) => passes(query, hit));
  return (await exact(weaviate, scope, query, passing)).slice(0, query.limit);
}

const fewNear = 500;

/** Reads the vectors of the returned memories only. */
async function newestOfAll(weaviate: Weaviate, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, accepts, limit } = query;
  const hits: VectorHit[] = [];
  const atOnce = Math.min(limit + 16, headsAtOnce);
  for await (const row of newestRows(weaviate, { scope, where: toWhere(narrowing), atOnce })) {
    const head = toHead(row);
    if (accepts && !accepts(head)) continue;
    hits.push({ head, distance: NaN });
    if (hits.length >= limit) break;
  }
  return measured(weaviate, scope, query, hits);
}

/** Compares every memory, newest first: for queries that the index cannot answer. */
async function scan(weaviate: Weaviate, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, order, limit } = query;
  if (query.accepts) return scanAccepted(weaviate, scope, query);
  const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
  const distanceTo = distancesFrom(query.vector, query.measure);
  const rows = newestRows(weaviate, { scope, where: toWhere(narrowing), atOnce: vectorsAtOnce, fields: vectorFields });
  for await (const row of rows) {
    const hit = { head: toHead(row), distance: distanceTo(vectorOf(row), 0) };
    if (top.wants(hit) && passes(query, hit)) top.add(hit);
    if (order === 'newest' && top.items().length >= limit) break;
  }
  return top.items();
}

/** The same, reading the vectors of those memories only that pass the filters: most vectors of a scan are of others, and they are large. */
async function scanAccepted(weaviate: Weaviate, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, order, limit } = query;
  const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
  let wanted: VectorHit[] = [];
  const compare = async (): Promise<void> => {
    for (const hit of await measured(weaviate, scope, query, wanted))
      if (top.wants(hit) && passes(query, hit)) top.add(hit);
    wanted = [];
  };
  for await (const row of newestRows(weaviate, { scope, where: toWhere(narrowing), atOnce: headsAtOnce })) {
    const head = toHead(row);
    if (isWanted(query, head)) wanted.push({ head, distance: NaN });
    if (wanted.length < vectorsAtOnce) continue;
    await compare();
    if (order === 'newest' && top.items().length >= limit) break;
  }
  await compare();
  return top.items();
}

async function findAmongIds(weaviate: Weaviate, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  const { owner, narrowing, limit, measure } = query;
  const ids = [...(narrowing.memoryIds ?? [])].map((memoryId) => objectId(owner, memoryId));
  const hits: VectorHit[] = [];
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const chunk = ids.slice(from, from + idsAtOnce);
    const rows = await findRows(weaviate, {
      scope,
      limit: idsAtOnce,
      where: allOf([hasId(chunk), toWhere(narrowing)]),
      ...(measure === 'manhattan' ? { fields: vectorFields } : { fields: distanceFields, nearVector: query.vector }),
    });
    hits.push(...rows.map(toHit(query)));
  }
  const passing = hits.filter((hit) => passes(query, hit));
  return (await exact(weaviate, scope, query, passing)).slice(0, limit);
}

const idsAtOnce = 250;

/** A row as a hit: by Weaviate's distance, or, for Manhattan, by its vector. */
function toHit({ vector, measure }: VectorQuery): (row: Row) => VectorHit {
  const distanceTo = distancesFrom(vector, measure);
  return (row) => ({
    head: toHead(row),
    distance: measure === 'manhattan' ? distanceTo(vectorOf(row), 0) : distanceOf(row, measure),
  });
}

/** The hits in order. Weaviate's distance of nearly equal vectors is inexact, so these are measured by their vectors. */
async function exact(weaviate: Weaviate, scope: Scope, query: VectorQuery, hits: VectorHit[]): Promise<VectorHit[]> {
  const { measure, order, maxDistance = Infinity } = query;
  const inexact = measure === 'euclidean' ? hits.filter(isNearlyEqual) : [];
  const again = inexact.length === 0 ? [] : await measured(weaviate, scope, query, inexact);
  const all = [
    ...again.filter(({ distance }) => distance <= maxDistance),
    ...hits.filter((hit) => !inexact.includes(hit)),
  ];
  return all.sort(order === 'nearest' ? nearestFirst : newestFirst);
}

const isNearlyEqual = ({ distance }: VectorHit): boolean => distance < 0.03;
/** The largest error of such a distance. */
const nearlyEqualError = 1e-3;

/** The same hits, measured by their vectors. A memory that was removed since keeps its distance; without a distance it is left out. */
async function measured(
  weaviate: Weaviate,
  scope: Scope,
  { owner, vector, measure }: VectorQuery,
  hits: readonly VectorHit[],
): Promise<VectorHit[]> {
  const ids = hits.map(({ head }) => objectId(owner, head.memoryId));
  const rows = await rowsByIds(weaviate, { scope, ids, fields: '_additional { id vector }' });
  const distanceTo = distancesFrom(vector, measure);
  const known = new Map(rows.map((row) => [additionalOf(row).id, distanceTo(vectorOf(row), 0)]));
  return hits.flatMap((hit, index) => {
    const distance = known.get(ids[index] ?? '') ?? hit.distance;
    return Number.isNaN(distance) ? [] : [{ head: hit.head, distance }];
  });
}

/**
 * The best memories by keywords. It reads more until enough pass and, for a short list, until all whose score equals the last one's are
 * known.
 */
export async function findByKeywords(weaviate: Weaviate, scope: Scope, query: KeywordQuery): Promise<KeywordHit[]> {
  const words = [...new Set(stemsOf(query.text))].slice(0, maxWords).join(' ');
  if (words === '' || query.limit <= 0) return [];
  for (let limit = Math.min(query.limit + 16, maxResults); ; limit = Math.min(limit * 4, maxResults)) {
    const rows = await findRows(weaviate, {
      scope,
      limit,
      fields: `${headFields} _additional { score }`,
      where: toWhere(query.narrowing),
      bm25: { words, property: 'words' },
    });
    const hits = rows.map((row) => ({ head: toHead(row), score: Number(additionalOf(row).score) }));
    const passing = hits.filter(({ head }) => isWanted(query, head)).sort(bestScoreFirst);
    const last = passing[query.limit - 1];
    const isEnough = last && (query.limit > shortList || (hits.at(-1)?.score ?? 0) < last.score);
    if (isEnough || rows.length < limit || limit >= maxResults) return passing.slice(0, query.limit);
  }
}

/** A longer list is for strategies that blend scores: very many hits at its end have the same, low score. */
const shortList = 100;

/** The words of a query after these are ignored. */
const maxWords = 64;

interface Near {
  readonly query: VectorQuery;
  readonly limit: number;
  readonly fields: string;
}

const near = async (weaviate: Weaviate, scope: Scope, { query, limit, fields }: Near): Promise<Row[]> =>
  findRows(weaviate, { scope, limit, fields, where: toWhere(query.narrowing), nearVector: query.vector });

function passes(query: VectorQuery, hit: VectorHit): boolean {
  const { measure, maxDistance = Infinity } = query;
  const bound = measure === 'euclidean' && isNearlyEqual(hit) ? maxDistance + nearlyEqualError : maxDistance;
  return hit.distance <= bound && isWanted(query, hit.head);
}

const isWanted = ({ narrowing, accepts }: StoreQuery, head: MemoryHead): boolean =>
  isWithin(narrowing, head) && (accepts === undefined || accepts(head));

interface Additional {
  readonly id?: string;
  readonly distance?: number;
  readonly score?: string;
  readonly vector?: readonly number[];
}

const additionalOf = (row: Row): Additional => row['_additional'] ?? {};

const vectorOf = (row: Row): Float32Array => Float32Array.from(additionalOf(row).vector ?? []);

/** From the cosine distance: between vectors of length 1, the square of the Euclidean distance is twice that. */
function distanceOf(row: Row, measure: Measure): number {
  const cosine = additionalOf(row).distance ?? NaN;
  return measure === 'dot' ? cosine - 1 : Math.sqrt(Math.max(0, 2 * cosine));
}
