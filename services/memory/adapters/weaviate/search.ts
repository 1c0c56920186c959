import type { MemoryHead } from '../../ports/memory.ts';
import type { StoreQuery } from '../../ports/query.ts';
import type { KeywordHit, KeywordQuery, Measure, VectorHit, VectorQuery } from '../../ports/search.ts';
import { bestScoreFirst, isWithin, nearestFirst, newestFirst } from '../../record/order.ts';
import { distancesFrom } from '../../vectors/distances.ts';
import { createTop } from '../../vectors/top.ts';
import type { Scope } from './client/weaviate.ts';
import { eachById, idOf, readableOf, rowsByIds, type Reads } from './records/by-id.ts';
import { followChanges, type FollowedChanges } from './records/changes.ts';
import { headsAtOnce } from './records/lists.ts';
import { disagreeing, newestByTime, newestRows } from './records/newest.ts';
import { headFields, objectId, toHead, toWhere } from './objects/objects.ts';
import { findRows, hasId, maxResults, type Row } from './client/queries.ts';

/** How much the distance of one pair may differ from one request to the next. */
const rounding = 1e-6;
const vectorFields = `${headFields} _additional { vector }`;
const distanceFields = `${headFields} _additional { distance }`;
/** Objects that are read at once with their vectors, which are large. */
const vectorsAtOnce = 200;

export async function findByVector(reads: Reads, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  if (query.limit <= 0) return [];
  const { owner, narrowing, order, limit } = query;
  if (narrowing.memoryIds) {
    const ids = [...narrowing.memoryIds].map((memoryId) => objectId(owner, memoryId));
    return (await findAmongIds(reads, scope, query, ids)).slice(0, limit);
  }
  const search = { reads, scope, query, changes: followChanges(reads.changes, scope) };
  const found = await (order === 'nearest' ? nearest(search) : newest(search));
  return found ? withMissed(search, found) : scan(reads, scope, query);
}

/** One search by the index. */
interface Search {
  readonly reads: Reads;
  readonly scope: Scope;
  readonly query: VectorQuery;
  readonly changes: FollowedChanges;
}

/** Adds the memories that the index may have missed because they were replaced meanwhile. */
async function withMissed({ reads, scope, query, changes }: Search, found: VectorHit[]): Promise<VectorHit[]> {
  const { owner, order, limit } = query;
  const known = new Set(found.map(({ head }) => objectId(owner, head.memoryId)));
  const ids = [...(await changes.collect()).replaced].filter((id) => !known.has(id));
  if (ids.length === 0) return found;
  const missed = await findAmongIds(reads, scope, query, ids);
  return [...found, ...missed].sort(order === 'nearest' ? nearestFirst : newestFirst).slice(0, limit);
}

/** Whether a query that was asked for `limit` objects and returned so many left none out that it was not asked for. */
const isWhole = async ({ changes }: Pick<Search, 'changes'>, count: number, limit: number): Promise<boolean> =>
  count < limit && count + (await changes.collect()).count < limit;

/** The nearest memories by Weaviate's index. It reads more until enough pass; `undefined` when Weaviate returns no more. */
async function nearest(search: Search): Promise<VectorHit[] | undefined> {
  const { reads, scope, query } = search;
  if (query.measure === 'manhattan') return nearestByManhattan(search);
  for (let limit = Math.min(query.limit + 16, maxResults); ; limit = Math.min(limit * 4, maxResults)) {
    const rows = await near(search, { limit, fields: distanceFields });
    const hits = readableOf(rows, reads.onUnreadable).map((row) => ({
      head: toHead(row),
      distance: distanceOf(row, query.measure),
    }));
    const furthest = hits.at(-1)?.distance ?? Infinity;
    const passing = hits.filter((hit) => passes(query, hit));
    const last = passing[query.limit - 1];
    // Hits as far away as the last one are ordered newest first, so all of them must be known.
    const isEnough =
      furthest > (query.maxDistance ?? Infinity) + rounding || (last && furthest > last.distance + rounding);
    if (isEnough === true || (await isWhole(search, rows.length, limit))) {
      return (await exact(reads, scope, query, passing)).slice(0, query.limit);
    }
    if (limit >= maxResults) return undefined;
  }
}

/**
 * The index is by angle, so the nearest by Manhattan distance are chosen among many more that are nearest by angle. An owner with
 * no more than `leastCandidates` memories has them all compared.
 */
async function nearestByManhattan(search: Search): Promise<VectorHit[] | undefined> {
  const { reads, query } = search;
  const distanceTo = distancesFrom(query.vector, 'manhattan');
  for (let limit = Math.min(Math.max(query.limit * 10, leastCandidates), maxResults); ; limit = maxResults) {
    const rows = await near(search, { limit, fields: vectorFields });
    const top = createTop<VectorHit>(query.limit, nearestFirst);
    for (const row of readableOf(rows, reads.onUnreadable)) {
      const hit = { head: toHead(row), distance: distanceTo(vectorOf(row), 0) };
      if (top.wants(hit) && passes(query, hit)) top.add(hit);
    }
    if (top.items().length === query.limit || (await isWhole(search, rows.length, limit))) return top.items();
    if (limit >= maxResults) return undefined;
  }
}

const leastCandidates = 1000;

/**
 * The newest that pass; `undefined` when a scan is faster. When few memories are within `maxDistance`, the index finds them; when many
 * are, a scan from the newest one soon has enough.
 */
async function newest(search: Search): Promise<VectorHit[] | undefined> {
  const { reads, scope, query } = search;
  if (query.maxDistance === undefined) return newestOfAll(reads, scope, query);
  if (query.measure === 'manhattan') return undefined;
  const rows = await near(search, { limit: fewNear, fields: distanceFields });
  const hits = readableOf(rows, reads.onUnreadable).map((row) => ({
    head: toHead(row),
    distance: distanceOf(row, query.measure),
  }));
  const furthest = hits.at(-1)?.distance ?? Infinity;
  const isEnough = furthest > query.maxDistance + rounding || (await isWhole(search, rows.length, fewNear));
  if (!isEnough) return undefined;
  const passing = hits.filter((hit) => passes(query, hit));
  return (await exact(reads, scope, query, passing)).slice(0, query.limit);
}

const fewNear = 500;

/** Reads the vectors of the returned memories only. */
async function newestOfAll(reads: Reads, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, limit } = query;
  const hits: VectorHit[] = [];
  const atOnce = Math.min(limit + 16, headsAtOnce);
  const take = (row: Row): void => {
    const head = toHead(row);
    if (isWanted(query, head)) hits.push({ head, distance: NaN });
  };
  const newest = { scope, where: toWhere(narrowing), atOnce, atOnceById: headsAtOnce };
  const { rows, missed } = newestByTime(reads, newest);
  for await (const row of rows) {
    take(row);
    if (hits.length >= limit) break;
  }
  for await (const row of missed()) take(row);
  return measured(reads, scope, query, hits.sort(newestFirst).slice(0, limit));
}

/** Compares every memory, newest first: for queries that the index cannot answer. */
async function scan(reads: Reads, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, order, limit } = query;
  if (query.accepts) return scanAccepted(reads, scope, query);
  const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
  const distanceTo = distancesFrom(query.vector, query.measure);
  const take = (row: Row): void => {
    const hit = { head: toHead(row), distance: distanceTo(vectorOf(row), 0) };
    if (top.wants(hit) && passes(query, hit)) top.add(hit);
  };
  const newest = { scope, where: toWhere(narrowing), atOnce: vectorsAtOnce, fields: vectorFields };
  const { rows, missed } = order === 'newest' ? newestByTime(reads, newest) : newestRows(reads, newest);
  for await (const row of rows) {
    take(row);
    if (order === 'newest' && top.items().length >= limit) break;
  }
  for await (const row of missed()) take(row);
  return top.items();
}

/** The same, reading the vectors of those memories only that pass the filters: most vectors of a scan are of others, and they are large. */
async function scanAccepted(reads: Reads, scope: Scope, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, order, limit } = query;
  const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
  let wanted: VectorHit[] = [];
  const compare = async (): Promise<void> => {
    for (const hit of await measured(reads, scope, query, wanted))
      if (top.wants(hit) && passes(query, hit)) top.add(hit);
    wanted = [];
  };
  const take = async (row: Row): Promise<void> => {
    const head = toHead(row);
    if (isWanted(query, head)) wanted.push({ head, distance: NaN });
    if (wanted.length >= vectorsAtOnce) await compare();
  };
  const newest = { scope, where: toWhere(narrowing), atOnce: headsAtOnce };
  const { rows, missed } = order === 'newest' ? newestByTime(reads, newest) : newestRows(reads, newest);
  for await (const row of rows) {
    await take(row);
    if (order === 'newest' && top.items().length >= limit) break;
  }
  for await (const row of missed()) await take(row);
  await compare();
  return top.items();
}

/** The memories among these objects that pass, in order. */
async function findAmongIds(
  reads: Reads,
  scope: Scope,
  query: VectorQuery,
  ids: readonly string[],
): Promise<VectorHit[]> {
  const isByVector = query.measure === 'manhattan';
  const rows = await rowsByIds(reads, {
    ...{ scope, ids, atOnce: idsAtOnce },
    ...(isByVector ? { fields: vectorFields } : { fields: distanceFields, nearVector: query.vector }),
  });
  const passing = rows.map(toHit(query)).filter((hit) => passes(query, hit));
  return exact(reads, scope, query, passing);
}

const idsAtOnce = 250;

/** A row as a hit: by Weaviate's distance, or, where it has its vector, by that. */
function toHit({ vector, measure }: VectorQuery): (row: Row) => VectorHit {
  const distanceTo = distancesFrom(vector, measure);
  return (row) => ({
    head: toHead(row),
    distance: additionalOf(row).vector ? distanceTo(vectorOf(row), 0) : distanceOf(row, measure),
  });
}

/** The hits in order. Weaviate's distance of nearly equal vectors is inexact, so these are measured by their vectors. */
async function exact(reads: Reads, scope: Scope, query: VectorQuery, hits: VectorHit[]): Promise<VectorHit[]> {
  const { measure, order, maxDistance = Infinity } = query;
  const inexact = measure === 'euclidean' ? hits.filter(isNearlyEqual) : [];
  const again = inexact.length === 0 ? [] : await measured(reads, scope, query, inexact);
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
  reads: Reads,
  scope: Scope,
  { owner, vector, measure }: VectorQuery,
  hits: readonly VectorHit[],
): Promise<VectorHit[]> {
  const ids = hits.map(({ head }) => objectId(owner, head.memoryId));
  const rows = await rowsByIds(reads, { scope, ids, fields: '_additional { id vector }' });
  const distanceTo = distancesFrom(vector, measure);
  const known = new Map(rows.map((row) => [additionalOf(row).id, distanceTo(vectorOf(row), 0)]));
  return hits.flatMap((hit, index) => {
    const distance = known.get(ids[index] ?? '') ?? hit.distance;
    return Number.isNaN(distance) ? [] : [{ head: hit.head, distance }];
  });
}

/**
 * The best memories that have any of the words. Those that the index missed because they were replaced meanwhile are looked for again by
 * their ids.
 */
export async function findByKeywords(
  reads: Reads,
  scope: Scope,
  query: KeywordQuery,
  words: readonly string[],
): Promise<KeywordHit[]> {
  if (words.length === 0 || query.limit <= 0) return [];
  const changes = followChanges(reads.changes, scope);
  const found = await bestByKeywords({ reads, scope, query, changes, words: words.join(' ') });
  const hits = new Map(found.map((hit) => [objectId(query.owner, hit.head.memoryId), hit]));
  for (let tries = 1; ; tries += 1) {
    const missed: string[] = [];
    const { replaced } = await changes.collect();
    const ids = [...replaced].filter((id) => !hits.has(id));
    for await (const row of eachById(reads, { scope, ids, fields: `${headFields} words`, atOnce: vectorsAtOnce })) {
      const has = new Set(String(row['words']).split(' '));
      if (words.some((word) => has.has(word)) && isWanted(query, toHead(row))) missed.push(idOf(row));
    }
    if (missed.length === 0) return [...hits.values()].sort(bestScoreFirst).slice(0, query.limit);
    if (tries >= maxTries) throw disagreeing();
    changes.begin();
    const bm25 = { words: words.join(' '), property: 'words' };
    for (const hit of (await scored(reads, { scope, limit: missed.length, where: hasId(missed), bm25 })).hits)
      hits.set(objectId(query.owner, hit.head.memoryId), hit);
  }
}

const maxTries = 3;

interface KeywordSearch extends Pick<Search, 'reads' | 'scope' | 'changes'> {
  readonly query: KeywordQuery;
  readonly words: string;
}

/** It reads more until enough pass and, for a short list, until all whose score equals the last one's are known. */
async function bestByKeywords({ reads, scope, query, changes, words }: KeywordSearch): Promise<KeywordHit[]> {
  for (let limit = Math.min(query.limit + 16, maxResults); ; limit = Math.min(limit * 4, maxResults)) {
    changes.begin();
    const bm25 = { words, property: 'words' };
    const { hits, count } = await scored(reads, { scope, limit, where: toWhere(query.narrowing), bm25 });
    const passing = hits.filter(({ head }) => isWanted(query, head)).sort(bestScoreFirst);
    const last = passing[query.limit - 1];
    const isEnough = last && (query.limit > shortList || (hits.at(-1)?.score ?? 0) < last.score);
    if (isEnough || limit >= maxResults || (await isWhole({ changes }, count, limit))) return passing;
  }
}

interface Scored {
  readonly hits: readonly KeywordHit[];
  /** How many objects the query returned. */
  readonly count: number;
}

async function scored(reads: Reads, query: Omit<Parameters<typeof findRows>[1], 'fields'>): Promise<Scored> {
  const rows = await findRows(reads.weaviate, { ...query, fields: `${headFields} _additional { score }` });
  const hits = readableOf(rows, reads.onUnreadable).map((row) => ({
    head: toHead(row),
    score: Number(additionalOf(row).score),
  }));
  return { hits, count: rows.length };
}

/** A longer list is for strategies that blend scores: very many hits at its end have the same, low score. */
const shortList = 100;

interface Near {
  readonly limit: number;
  readonly fields: string;
}

async function near({ reads, scope, query, changes }: Search, { limit, fields }: Near): Promise<Row[]> {
  changes.begin();
  const where = toWhere(query.narrowing);
  return findRows(reads.weaviate, { scope, limit, fields, where, nearVector: query.vector });
}

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
