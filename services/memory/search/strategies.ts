import { isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import type { DistanceMetric, RetrievalStrategy } from '@agent-workflow/protos/lists';
import type { MemoryHead } from '../ports/memory.ts';
import type { MemoryRecords } from '../ports/records.ts';
import type { KeywordHit, MemorySearch, VectorQuery } from '../ports/search.ts';
import type { Selected } from '../record/filters.ts';
import { fieldOf } from '../record/json.ts';
import { timeOf } from '../record/order.ts';
import type { SearchOptions } from '../record/options.ts';
import type { Space } from '../record/spaces.ts';
import { keywordsOf } from '../words/keywords.ts';
import { queryTermsOf, termsOf } from '../words/terms.ts';
import { traverseFrom } from './graph.ts';
import { blend, importance, metrics, recency } from './rank.ts';

/** One search whose request is read and whose text is embedded. */
interface Search {
  readonly store: Pick<MemoryRecords, 'get' | 'list'> & MemorySearch;
  /** Where is searched: each space is asked for itself, and what they give is merged. */
  readonly spaces: readonly Space[];
  readonly text: string;
  readonly vector: Float32Array;
  readonly metric: DistanceMetric;
  readonly selected: Selected;
  readonly limit: number;
  /** The least score of a result. */
  readonly threshold: number;
  readonly options: SearchOptions;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

/** The same in one of its spaces. */
interface SpaceSearch extends Omit<Search, 'spaces'> {
  readonly owner: string;
}

/** A memory that was found, with its score of 0 to 1. */
interface Ranked {
  readonly head: MemoryHead;
  readonly score: number;
}

/** The same, and where it is. */
export interface Found extends Ranked {
  readonly space: Space;
}

type Strategy = (search: Search) => Promise<Found[]>;

/** How many candidates the strategies that blend scores read of each kind: exact for owners with no more memories than this. */
const poolSize = 1000;
const dayMs = 86_400_000;
/** How much a score of a store's index may differ from one search to the next, and more. */
const inexactness = 1e-3;

/** At most `limit` memories whose score reaches the threshold, in the order of the reply. */
export const strategies: Readonly<Record<RetrievalStrategy, Strategy>> = {
  similarity: async (search) =>
    mergeSpaces(search, { order: bestFirst }, async (one) =>
      findSimilar(one, { order: 'nearest', limit: search.limit }),
    ),
  temporal: async (search) =>
    mergeSpaces(search, { order: latestFirst }, async (one) =>
      findSimilar(one, { order: 'newest', limit: search.limit }),
    ),

  relevance: async (search) => mergeSpaces(search, { order: bestFirst }, findRelevant),

  hybrid: async (search) => {
    const keywords = findKeywordScores(search);
    return mergeSpaces(search, { order: bestFirst }, async (one) =>
      findHybrid(
        one,
        keywords.then((scores) => scores.get(one.owner) ?? new Map()),
      ),
    );
  },

  graph_traversal: async (search) => {
    const seeds = await findSeeds(search);
    return mergeSpaces(search, { order: bestFirst }, async (one) =>
      findConnected(
        one,
        seeds.filter(({ space }) => space.owner === one.owner),
      ),
    );
  },
};

const bestFirst = (a: Ranked, b: Ranked): number => b.score - a.score || latestFirst(a, b);

const latestFirst = ({ head: a }: Ranked, { head: b }: Ranked): number =>
  timeOf(b) - timeOf(a) || (a.memoryId < b.memoryId ? 1 : -1);

/**
 * What `find` gives in each space, merged. It gives at most `limit` of a space, in `order`, and its scores do not depend on the space: so the first of
 * all are among the first of each. @throws what `find` throws, with the scope that it was thrown for: a search leaves no scope out.
 */
export async function mergeSpaces<S extends { readonly spaces: readonly Space[]; readonly limit: number }>(
  search: S,
  { order }: { readonly order: (a: Ranked, b: Ranked) => number },
  find: (search: Omit<S, 'spaces'> & { readonly owner: string }) => Promise<readonly Ranked[]>,
): Promise<Found[]> {
  const { spaces, ...rest } = search;
  const lists = await Promise.all(
    spaces.map(async (space) => {
      try {
        const found = await find({ ...rest, owner: space.owner });
        return found.map((ranked): Found => ({ ...ranked, space }));
      } catch (error) {
        throw spaces.length === 1 ? error : withScope(error, space);
      }
    }),
  );
  const [only = [], ...others] = lists;
  return others.length === 0 ? only : lists.flat().sort(order).slice(0, search.limit);
}

function withScope(error: unknown, { scope }: Space): unknown {
  if (!isServiceError(error)) return error;
  const { code, message, details, retryAfterMs, cause } = error;
  const times = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new ServiceError(code, `scope "${scope}": ${message}`, { details, cause, ...times });
}

async function findRelevant(search: SpaceSearch): Promise<Ranked[]> {
  const { weights, halfLifeDays } = search.options;
  const pool = await findPool(search);
  const ranked = pool.map(({ head, score }) => {
    const parts = [
      [score, weights.similarity],
      [recency(search.now - timeOf(head), halfLifeDays * dayMs), weights.recency],
      [importance(fieldOf(head.metadata, 'importance')), weights.importance],
    ] as const;
    return { head, score: blend(parts) };
  });
  return bestOf(search, ranked);
}

async function findHybrid(search: SpaceSearch, keywords: Promise<ReadonlyMap<string, number>>): Promise<Ranked[]> {
  const [near, keywordScores] = await Promise.all([findPool(search), keywords]);
  const { alpha } = search.options;
  const blended = (score: number, memoryId: string): number =>
    blend([
      [score, alpha],
      [keywordScores.get(memoryId) ?? 0, 1 - alpha],
    ]);
  const rank = ({ head, score }: Ranked): Ranked => ({ head, score: blended(score, head.memoryId) });
  const ranked = near.map(rank);
  const known = new Set(near.map(({ head }) => head.memoryId));
  // The others are no nearer than the furthest of a full pool, so most of them cannot come among the results, and are not read.
  const isFull = near.length >= poolSize;
  const least = isFull ? (bestOf(search, ranked)[search.limit - 1]?.score ?? 0) - inexactness : 0;
  const nearest = isFull ? (near.at(-1)?.score ?? 1) : 1;
  const missing = [...keywordScores.keys()].filter((id) => !known.has(id) && blended(nearest, id) >= least);
  const rest = missing.length === 0 ? [] : await findPool(search, new Set(missing));
  ranked.push(...rest.map(rank));
  return bestOf(search, ranked);
}

async function findConnected(search: SpaceSearch, seeds: readonly Ranked[]): Promise<Ranked[]> {
  if (seeds.length === 0) return [];
  const reached = await traverseFrom(seeds, search);
  const { narrowing, accepts } = search.selected;
  const { heads } = await search.store.list({
    owner: search.owner,
    narrowing: { ...narrowing, memoryIds: new Set(reached.keys()) },
    accepts,
    limit: Infinity,
    without: 'metadata',
  });
  return bestOf(
    search,
    heads.map((head) => ({ head, score: reached.get(head.memoryId) ?? 0 })),
  );
}

type Find = Pick<VectorQuery, 'order' | 'limit'> & { readonly memoryIds?: ReadonlySet<string> };

/** By similarity alone. The threshold applies before the limit. */
async function findSimilar(search: SpaceSearch, find: Find): Promise<Ranked[]> {
  const { measure, scoreOf, distanceOf } = metrics[search.metric];
  const { narrowing, accepts } = search.selected;
  const hits = await search.store.findByVector({
    owner: search.owner,
    vector: search.vector,
    measure,
    order: find.order,
    narrowing: { ...narrowing, memoryIds: find.memoryIds },
    accepts,
    maxDistance: search.threshold > 0 ? distanceOf(search.threshold) : undefined,
    limit: find.limit,
  });
  return hits
    .map(({ head, distance }) => ({ head, score: scoreOf(distance) }))
    .filter(({ score }) => score >= search.threshold);
}

/** The nearest candidates of a strategy that blends scores, whatever their similarity. */
const findPool = async (search: SpaceSearch, memoryIds?: ReadonlySet<string>): Promise<Ranked[]> =>
  findSimilar({ ...search, threshold: 0 }, { order: 'nearest', limit: poolSize, ...(memoryIds && { memoryIds }) });

/**
 * The keyword scores of the hits in each space, by its owner: from 0 to 1. A score of BM25 is only comparable with others of its space, so it is divided
 * by the best one there. Where there are several spaces, the share of the query's terms that their best hits have makes them comparable.
 */
async function findKeywordScores(search: Search): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const { store, spaces, text, selected } = search;
  const keywords = keywordsOf(text);
  const hitsOf = await Promise.all(
    spaces.map(async ({ owner }) => {
      const hits = await store.findByKeywords({ owner, text: keywords, ...selected, limit: poolSize });
      return { owner, hits, share: spaces.length === 1 ? 1 : await shareOf(search, owner, hits[0]) };
    }),
  );
  const most = Math.max(...hitsOf.map(({ share }) => share));
  return new Map(
    hitsOf.map(({ owner, hits, share }) => {
      const best = hits[0]?.score ?? 1;
      const weight = most > 0 ? share / most : 1;
      return [owner, new Map(hits.map(({ head, score }) => [head.memoryId, (score / best) * weight]))];
    }),
  );
}

/** How much of the query's terms a hit has, from 0 to 1. */
async function shareOf({ store, text }: Search, owner: string, hit: KeywordHit | undefined): Promise<number> {
  const [memory] = hit ? await store.get(owner, [hit.head.memoryId]) : [];
  if (!memory) return 0;
  const wanted = queryTermsOf(keywordsOf(text));
  const terms = new Set(termsOf(memory.content));
  return wanted.filter((term) => terms.has(term)).length / wanted.length;
}

/** The share of the best score that a seed must have, so that a traversal does not begin at memories that are unlike the query. */
const seedShare = 0.9;

/** The few memories that a traversal begins at. Each leads to others of its own space. */
async function findSeeds(search: Search): Promise<Found[]> {
  const { seeds } = search.options;
  const asked = { ...search, threshold: 0, limit: seeds };
  const nearest = await mergeSpaces(asked, { order: bestFirst }, async (one) =>
    findSimilar(one, { order: 'nearest', limit: seeds }),
  );
  const best = nearest[0]?.score ?? 0;
  return nearest.filter(({ score }) => score >= best * seedShare);
}

const bestOf = ({ threshold, limit }: SpaceSearch, ranked: readonly Ranked[]): Ranked[] =>
  ranked
    .filter(({ score }) => score >= threshold)
    .sort(bestFirst)
    .slice(0, limit);
