import { closenessTo, createTop } from '../../search/nearness.ts';
import { heaviestFirst, isWithin, nearestFirst, newestFirst } from '../../record/order.ts';
import type { KeywordHit, KeywordQuery, Measure, StoreQuery, VectorHit, VectorQuery } from '../../ports/port.ts';
import { stemsOf } from '../../words/stems.ts';
import type { Home, Weaviate } from './client.ts';
import { headsAtOnce, newestRows, rowsByIds } from './lists.ts';
import { headFields, objectId, toHead, toWhere } from './objects.ts';
import { allOf, findRows, hasId, maxResults, type Row } from './queries.ts';

/** How far the distance of one pair may differ from one request to the next. */
const rounding = 1e-6;
const vectorFields = `${headFields} _additional { vector }`;
/** Objects with their vectors are large: this many at once. */
const vectorsAtOnce = 200;

export async function findByVector(weaviate: Weaviate, home: Home, query: VectorQuery): Promise<VectorHit[]> {
  if (query.limit <= 0) return [];
  if (query.narrowing.memoryIds) return amongNamed(weaviate, home, query);
  const found = query.order === 'nearest' ? await nearest(weaviate, home, query) : await newest(weaviate, home, query);
  return found ?? scan(weaviate, home, query);
}

/** What Weaviate finds nearest, more of it until enough has passed; `undefined` when it gives no more. */
async function nearest(weaviate: Weaviate, home: Home, query: VectorQuery): Promise<VectorHit[] | undefined> {
  if (query.measure === 'manhattan') return nearestBySteps(weaviate, home, query);
  for (let limit = Math.min(query.limit + 16, maxResults); ; limit = Math.min(limit * 4, maxResults)) {
    const rows = await near(weaviate, home, { query, limit, fields: `${headFields} _additional { distance }` });
    const hits = rows.map((row) => ({ head: toHead(row), closeness: closenessOf(row, query.measure) }));
    const reach = hits.at(-1)?.closeness ?? -Infinity;
    const passing = hits.filter((hit) => passes(query, hit));
    const last = passing[query.limit - 1];
    // Those as near as the last one come newest first, so all of them must be known.
    const isEnough = rows.length < limit || reach < (query.atLeast ?? -Infinity) - rounding;
    if (isEnough || (last && reach < last.closeness - rounding)) {
      return (await exact(weaviate, home, query, passing)).slice(0, query.limit);
    }
    if (limit >= maxResults) return undefined;
  }
}

/**
 * The index goes by angle, so what is nearest by steps is chosen among many more that are nearest by angle. With no more than
 * `leastSteps` memories that is all of them.
 */
async function nearestBySteps(weaviate: Weaviate, home: Home, query: VectorQuery): Promise<VectorHit[] | undefined> {
  const closeness = closenessTo(query.vector, 'manhattan');
  for (let limit = Math.min(Math.max(query.limit * 10, leastSteps), maxResults); ; limit = maxResults) {
    const rows = await near(weaviate, home, { query, limit, fields: vectorFields });
    const top = createTop<VectorHit>(query.limit, nearestFirst);
    for (const row of rows) {
      const hit = { head: toHead(row), closeness: closeness(vectorOf(row), 0) };
      if (top.wants(hit) && passes(query, hit)) top.add(hit);
    }
    if (rows.length < limit || top.items().length === query.limit) return top.items();
    if (limit >= maxResults) return undefined;
  }
}

const leastSteps = 1000;

/**
 * The newest that pass. When few are near enough, they are found by their nearness; else they come soon when looking at the newest
 * one after the other.
 */
async function newest(weaviate: Weaviate, home: Home, query: VectorQuery): Promise<VectorHit[] | undefined> {
  if (query.atLeast === undefined) return newestOfAll(weaviate, home, query);
  if (query.measure === 'manhattan') return undefined;
  const rows = await near(weaviate, home, {
    query,
    limit: fewNear,
    fields: `${headFields} _additional { distance }`,
  });
  const hits = rows.map((row) => ({ head: toHead(row), closeness: closenessOf(row, query.measure) }));
  const reach = hits.at(-1)?.closeness ?? -Infinity;
  if (rows.length === fewNear && reach >= query.atLeast - rounding) return undefined;
  const passing = hits.filter((hit) => passes(query, hit));
  return (await exact(weaviate, home, query, passing)).slice(0, query.limit);
}

const fewNear = 500;

/** Vectors are read of those alone that are given back. */
async function newestOfAll(weaviate: Weaviate, home: Home, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, accepts, limit } = query;
  const hits: VectorHit[] = [];
  const atOnce = Math.min(limit + 16, headsAtOnce);
  for await (const row of newestRows(weaviate, { home, where: toWhere(narrowing), atOnce })) {
    const head = toHead(row);
    if (accepts && !accepts(head)) continue;
    hits.push({ head, closeness: NaN });
    if (hits.length >= limit) break;
  }
  return measured(weaviate, home, query, hits);
}

/** Looks at everything, newest first: for what an index cannot answer. */
async function scan(weaviate: Weaviate, home: Home, query: VectorQuery): Promise<VectorHit[]> {
  const { narrowing, order, limit } = query;
  const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
  const closeness = closenessTo(query.vector, query.measure);
  const rows = newestRows(weaviate, { home, where: toWhere(narrowing), atOnce: vectorsAtOnce, fields: vectorFields });
  for await (const row of rows) {
    const hit = { head: toHead(row), closeness: closeness(vectorOf(row), 0) };
    if (top.wants(hit) && passes(query, hit)) top.add(hit);
    if (order === 'newest' && top.items().length >= limit) break;
  }
  return top.items();
}

async function amongNamed(weaviate: Weaviate, home: Home, query: VectorQuery): Promise<VectorHit[]> {
  const { owner, narrowing, limit, measure } = query;
  const ids = [...(narrowing.memoryIds ?? [])].map((memoryId) => objectId(owner, memoryId));
  const hits: VectorHit[] = [];
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const chunk = ids.slice(from, from + idsAtOnce);
    const rows = await findRows(weaviate, {
      home,
      limit: idsAtOnce,
      where: allOf([hasId(chunk), toWhere(narrowing)]),
      ...(measure === 'manhattan'
        ? { fields: vectorFields }
        : { fields: `${headFields} _additional { distance }`, nearVector: query.vector }),
    });
    hits.push(...rows.map(toHit(query)));
  }
  const passing = hits.filter((hit) => passes(query, hit));
  return (await exact(weaviate, home, query, passing)).slice(0, limit);
}

const idsAtOnce = 250;

/** A row with how near it is: by its distance, or, by steps, by its vector. */
function toHit({ vector, measure }: VectorQuery): (row: Row) => VectorHit {
  const closeness = closenessTo(vector, measure);
  return (row) => ({
    head: toHead(row),
    closeness: measure === 'manhattan' ? closeness(vectorOf(row), 0) : closenessOf(row, measure),
  });
}

/** The hits in order. A distance says little of vectors that are nearly the same: those are measured anew. */
async function exact(weaviate: Weaviate, home: Home, query: VectorQuery, hits: VectorHit[]): Promise<VectorHit[]> {
  const { measure, order, atLeast = -Infinity } = query;
  const inexact = measure === 'euclidean' ? hits.filter(isTooNear) : [];
  const again = inexact.length === 0 ? [] : await measured(weaviate, home, query, inexact);
  const all = [
    ...again.filter(({ closeness }) => closeness >= atLeast),
    ...hits.filter((hit) => !inexact.includes(hit)),
  ];
  return all.sort(order === 'nearest' ? nearestFirst : newestFirst);
}

const isTooNear = ({ closeness }: VectorHit): boolean => closeness > -0.03;
/** What is lost of such a distance at most. */
const blur = 1e-3;

/** The same hits, measured by their vectors; one that is gone by now stays as it was. */
async function measured(
  weaviate: Weaviate,
  home: Home,
  { owner, vector, measure }: VectorQuery,
  hits: readonly VectorHit[],
): Promise<VectorHit[]> {
  const ids = hits.map(({ head }) => objectId(owner, head.memoryId));
  const rows = await rowsByIds(weaviate, { home, ids, fields: '_additional { id vector }' });
  const closeness = closenessTo(vector, measure);
  const known = new Map(rows.map((row) => [additionalOf(row).id, closeness(vectorOf(row), 0)]));
  return hits.flatMap((hit, place) => {
    const anew = known.get(ids[place] ?? '') ?? hit.closeness;
    return Number.isNaN(anew) ? [] : [{ head: hit.head, closeness: anew }];
  });
}

/**
 * The best by words, more of them until enough has passed, and, for a short list, until all that weigh the same as its last are
 * known.
 */
export async function findByWords(weaviate: Weaviate, home: Home, query: KeywordQuery): Promise<KeywordHit[]> {
  const words = [...new Set(stemsOf(query.text))].slice(0, maxWords).join(' ');
  if (words === '' || query.limit <= 0) return [];
  for (let limit = Math.min(query.limit + 16, maxResults); ; limit = Math.min(limit * 4, maxResults)) {
    const rows = await findRows(weaviate, {
      home,
      limit,
      fields: `${headFields} _additional { score }`,
      where: toWhere(query.narrowing),
      bm25: { words, property: 'words' },
    });
    const hits = rows.map((row) => ({ head: toHead(row), weight: Number(additionalOf(row).score) }));
    const passing = hits.filter(({ head }) => isWanted(query, head)).sort(heaviestFirst);
    const last = passing[query.limit - 1];
    const isEnough = last && (query.limit > shortList || (hits.at(-1)?.weight ?? 0) < last.weight);
    if (isEnough || rows.length < limit || limit >= maxResults) return passing.slice(0, query.limit);
  }
}

/** A longer list is for strategies that blend: at its end very many weigh the same, and little. */
const shortList = 100;

/** More words than this say no more about what is meant. */
const maxWords = 64;

interface Near {
  readonly query: VectorQuery;
  readonly limit: number;
  readonly fields: string;
}

const near = async (weaviate: Weaviate, home: Home, { query, limit, fields }: Near): Promise<Row[]> =>
  findRows(weaviate, { home, limit, fields, where: toWhere(query.narrowing), nearVector: query.vector });

function passes(query: VectorQuery, hit: VectorHit): boolean {
  const { measure, atLeast = -Infinity } = query;
  const least = measure === 'euclidean' && isTooNear(hit) ? atLeast - blur : atLeast;
  return hit.closeness >= least && isWanted(query, hit.head);
}

const isWanted = ({ narrowing, accepts }: StoreQuery, head: VectorHit['head']): boolean =>
  isWithin(narrowing, head) && (accepts === undefined || accepts(head));

interface Additional {
  readonly id?: string;
  readonly distance?: number;
  readonly score?: string;
  readonly vector?: readonly number[];
}

const additionalOf = (row: Row): Additional => row['_additional'] ?? {};

const vectorOf = (row: Row): Float32Array => Float32Array.from(additionalOf(row).vector ?? []);

/** From the cosine distance: on vectors of length 1 the square of the straight line is twice that. */
function closenessOf(row: Row, measure: Measure): number {
  const distance = additionalOf(row).distance ?? NaN;
  return measure === 'dot' ? 1 - distance : -Math.sqrt(Math.max(0, 2 * distance));
}
