import type { DistanceMetric, RetrievalStrategy } from '@agent-workflow/protos/lists';
import { walkFrom } from './graph.ts';
import { fieldOf } from '../record/json.ts';
import type { Selected } from '../record/filters.ts';
import type { SearchOptions } from '../record/options.ts';
import type { MemoryHead, MemoryStore, VectorQuery } from '../ports/port.ts';
import { tellingWords } from '../words/telling-words.ts';
import { blend, importance, metrics, recency } from './rank.ts';

/** One search, read and embedded. */
export interface Search {
  readonly store: MemoryStore;
  readonly owner: string;
  readonly text: string;
  readonly vector: Float32Array;
  readonly metric: DistanceMetric;
  readonly selected: Selected;
  readonly limit: number;
  /** What a result's score must reach. */
  readonly threshold: number;
  readonly options: SearchOptions;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

/** A memory found, with its score of 0 to 1. */
export interface Ranked {
  readonly head: MemoryHead;
  readonly score: number;
}

type Strategy = (search: Search) => Promise<Ranked[]>;

/** How many of each kind the strategies that blend look at: exact for owners with no more than this. */
const poolSize = 1000;
const dayMs = 86_400_000;

/** At most `limit` memories that reach the threshold, in the order of the reply. */
export const strategies: Readonly<Record<RetrievalStrategy, Strategy>> = {
  similarity: async (search) => findSimilar(search, { order: 'nearest', limit: search.limit }),

  temporal: async (search) => findSimilar(search, { order: 'newest', limit: search.limit }),

  relevance: async (search) => {
    const { weights, halfLifeDays } = search.options;
    const pool = await findPool(search);
    const ranked = pool.map(({ head, score }) => {
      const fresh = recency(search.now - head.timestamp, halfLifeDays * dayMs);
      const weight = importance(fieldOf(head.metadata, 'importance'));
      const parts = [
        [score, weights.similarity],
        [fresh, weights.recency],
        [weight, weights.importance],
      ] as const;
      return { head, score: blend(parts) };
    });
    return bestOf(search, ranked);
  },

  hybrid: async (search) => {
    const [near, words] = await Promise.all([findPool(search), findWords(search)]);
    const seen = new Set(near.map(({ head }) => head.memoryId));
    const missing = new Set([...words.keys()].filter((memoryId) => !seen.has(memoryId)));
    const rest = missing.size === 0 ? [] : await findPool(search, missing);
    const { alpha } = search.options;
    const ranked = [...near, ...rest].map(({ head, score }) => {
      const keywords = words.get(head.memoryId) ?? 0;
      return {
        head,
        score: blend([
          [score, alpha],
          [keywords, 1 - alpha],
        ] as const),
      };
    });
    return bestOf(search, ranked);
  },

  graph_traversal: async (search) => {
    const reached = await walkFrom(await findSeeds(search), search);
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

/** By similarity alone, the threshold applied before the limit. */
async function findSimilar(search: Search, find: Find): Promise<Ranked[]> {
  const { measure, score, closeness } = metrics[search.metric];
  const { narrowing, accepts } = search.selected;
  const hits = await search.store.findByVector({
    owner: search.owner,
    vector: search.vector,
    measure,
    order: find.order,
    narrowing: { ...narrowing, memoryIds: find.memoryIds },
    accepts,
    atLeast: search.threshold > 0 ? closeness(search.threshold) : undefined,
    limit: find.limit,
  });
  return hits
    .map((hit) => ({ head: hit.head, score: score(hit.closeness) }))
    .filter((ranked) => ranked.score >= search.threshold);
}

/** The nearest candidates of a strategy that judges them by more than their nearness, whatever their score. */
const findPool = async (search: Search, memoryIds?: ReadonlySet<string>): Promise<Ranked[]> =>
  findSimilar({ ...search, threshold: 0 }, { order: 'nearest', limit: poolSize, ...(memoryIds && { memoryIds }) });

/** The share of the best keyword hit's weight that each has: 1 for the best. */
async function findWords({ store, owner, text, selected }: Search): Promise<Map<string, number>> {
  const hits = await store.findByWords({ owner, text: tellingWords(text), ...selected, limit: poolSize });
  const best = hits[0]?.weight ?? 1;
  return new Map(hits.map(({ head, weight }) => [head.memoryId, weight / best]));
}

/** How much less than the best a place to begin may score: what is only less far away than the rest is none. */
const seedShare = 0.9;

/** The few memories that the query means. */
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
      (a, b) =>
        b.score - a.score || b.head.timestamp - a.head.timestamp || (a.head.memoryId < b.head.memoryId ? 1 : -1),
    )
    .slice(0, limit);
}
