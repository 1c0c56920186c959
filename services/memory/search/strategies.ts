import type { DistanceMetric, RetrievalStrategy } from '@agent-workflow/protos/lists';
import type { MemoryHead } from '../ports/memory.ts';
import type { MemoryRecords } from '../ports/records.ts';
import type { MemorySearch, VectorQuery } from '../ports/search.ts';
import type { Selected } from '../record/filters.ts';
import { fieldOf } from '../record/json.ts';
import { timeOf } from '../record/order.ts';
import type { SearchOptions } from '../record/options.ts';
import { keywordsOf } from '../words/keywords.ts';
import { traverseFrom } from './graph.ts';
import { blend, importance, metrics, recency } from './rank.ts';

/** One search whose request is read and whose text is embedded. */
interface Search {
  readonly store: Pick<MemoryRecords, 'get' | 'list'> & MemorySearch;
  readonly owner: string;
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

/** A memory that was found, with its score of 0 to 1. */
export interface Ranked {
  readonly head: MemoryHead;
  readonly score: number;
}

type Strategy = (search: Search) => Promise<Ranked[]>;

/** How many candidates the strategies that blend scores read of each kind: exact for owners with no more memories than this. */
const poolSize = 1000;
const dayMs = 86_400_000;
/** How much a score of a store's index may differ from one search to the next, and more. */
const inexactness = 1e-3;

/** At most `limit` memories whose score reaches the threshold, in the order of the reply. */
export const strategies: Readonly<Record<RetrievalStrategy, Strategy>> = {
  similarity: async (search) => findSimilar(search, { order: 'nearest', limit: search.limit }),

  temporal: async (search) => findSimilar(search, { order: 'newest', limit: search.limit }),

  relevance: async (search) => {
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
  },

  hybrid: async (search) => {
    const [near, keywordScores] = await Promise.all([findPool(search), findKeywordScores(search)]);
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
  },

  graph_traversal: async (search) => {
    const reached = await traverseFrom(await findSeeds(search), search);
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
  },
};

type Find = Pick<VectorQuery, 'order' | 'limit'> & { readonly memoryIds?: ReadonlySet<string> };

/** By similarity alone. The threshold applies before the limit. */
async function findSimilar(search: Search, find: Find): Promise<Ranked[]> {
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
const findPool = async (search: Search, memoryIds?: ReadonlySet<string>): Promise<Ranked[]> =>
  findSimilar({ ...search, threshold: 0 }, { order: 'nearest', limit: poolSize, ...(memoryIds && { memoryIds }) });

/** The keyword score of each hit, divided by the best one's. */
async function findKeywordScores({ store, owner, text, selected }: Search): Promise<Map<string, number>> {
  const hits = await store.findByKeywords({ owner, text: keywordsOf(text), ...selected, limit: poolSize });
  const best = hits[0]?.score ?? 1;
  return new Map(hits.map(({ head, score }) => [head.memoryId, score / best]));
}

/** The share of the best score that a seed must have, so that a traversal does not begin at memories that are unlike the query. */
const seedShare = 0.9;

/** The few memories that a traversal begins at. */
async function findSeeds(search: Search): Promise<Ranked[]> {
  const { seeds } = search.options;
  const nearest = await findSimilar({ ...search, threshold: 0 }, { order: 'nearest', limit: seeds });
  const best = nearest[0]?.score ?? 0;
  return nearest.filter(({ score }) => score >= best * seedShare);
}

function bestOf({ threshold, limit }: Search, ranked: readonly Ranked[]): Ranked[] {
  return ranked
    .filter(({ score }) => score >= threshold)
    .sort(
      (a, b) => b.score - a.score || timeOf(b.head) - timeOf(a.head) || (a.head.memoryId < b.head.memoryId ? 1 : -1),
    )
    .slice(0, limit);
}
