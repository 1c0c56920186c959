import type { Memory } from '@agent-workflow/client';
import { evidenceOf, type Ranking } from './evidence.ts';
import type { MemoryPlace } from './memory-address.ts';
import type { Metric } from './memory-shapes.ts';

/** What is less than half as near to the query as the nearest, and has no word of it, is found only because everything has a score. */
const leastShare = 0.5;

interface Rankings {
  readonly place: Pick<MemoryPlace, 'strategy' | 'metric'>;
  readonly meaning: Ranking | undefined;
  readonly words: Ranking | undefined;
}

/**
 * How many of the results of a search, from the first, its scores say something of: the last of them has a word of the query or is near it.
 * All, where that is not known, or where it would be none.
 */
export function endOfResults(results: readonly Pick<Memory, 'id'>[], { place, meaning, words }: Rankings): number {
  const isByScore = place.strategy !== 'temporal' && place.strategy !== 'graph_traversal';
  const best = Math.max(0, ...[...(meaning?.of.values() ?? [])].map(({ score }) => cosineOf(score, place.metric) ?? 0));
  if (!isByScore || !meaning || !words || cosineOf(1, place.metric) === undefined) return results.length;
  const isAlike = ({ id }: Pick<Memory, 'id'>): boolean => {
    // Where more have words than are ranked, one that is not ranked may have some.
    if ((evidenceOf(words, id)?.score ?? 1) > 0) return true;
    const near = cosineOf(evidenceOf(meaning, id)?.score ?? 0, place.metric) ?? 0;
    return near > 0 && near >= best * leastShare;
  };
  const last = results.findLastIndex(isAlike);
  return last === -1 ? results.length : last + 1;
}

/** The cosine that a score stands for: 0 for texts that have nothing in common, whose score is not 0. Other sums say nothing of it. */
function cosineOf(score: number, metric: Metric): number | undefined {
  if (metric === 'manhattan') return undefined;
  if (metric === 'euclidean') return score <= 0 ? -1 : 1 - (1 / score - 1) ** 2 / 2;
  return 2 * score - 1;
}
