import { invalid } from '@agent-workflow/kit/errors';
import { pageBytes } from '@agent-workflow/kit/pages';
import type { Call } from '@agent-workflow/protos/call';
import { distanceMetrics, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory, SearchRequest } from '@agent-workflow/protos/memory';
import type { StoredMemory } from '../ports/memory.ts';
import { checkedSelection, oneOf, readCount, refuseLarge, refuseLate } from '../record/checks.ts';
import { readSelection, type Selected } from '../record/filters.ts';
import { readSearchOptions } from '../record/options.ts';
import { strategies, type Ranked } from '../search/strategies.ts';
import { countTokens, createBudget } from '../words/tokens.ts';
import { itemBytes, readMemories, toItem } from './items.ts';
import { embed, type Parts } from './parts.ts';

export const createSearch =
  (parts: Parts): Memory['search'] =>
  async (request, call) => {
    refuseLate(call);
    const maxTokens = readCount(request.maxTokens, ['maxTokens'], { min: 0, max: Infinity });
    const incompleteBefore = parts.store.incompleteSince();
    const ranked = await rank(parts, request, call);
    const incompleteSince = incompleteBefore ?? parts.store.incompleteSince();
    const scores = new Map(ranked.map(({ head, score }) => [head.memoryId, score]));
    const isAffordable = createBudget<StoredMemory>(maxTokens, ({ content }) => countTokens(content));
    const fits = createBudget<StoredMemory>(pageBytes, itemBytes);
    const results: StoredMemory[] = [];
    for await (const memory of readMemories(parts, { owner: request.owner, ids: [...scores.keys()] }, call))
      if (isAffordable(memory) && fits(memory)) results.push(memory);
    return {
      results: results.map((memory) => toItem(memory, scores.get(memory.memoryId))),
      ...(incompleteSince !== undefined && { incompleteSince }),
    };
  };

async function rank(parts: Parts, request: SearchRequest, call: Call): Promise<Ranked[]> {
  const { owner, query: text, scoreThreshold: threshold } = request;
  const strategy = oneOf(retrievalStrategies, request.retrievalStrategy, ['retrievalStrategy']);
  const metric = oneOf(distanceMetrics, request.distanceMetric, ['distanceMetric']);
  const limit = readCount(request.limit, ['limit']);
  const options = readSearchOptions(request.optionsJson, parts.halfLifeDays);
  const selected = readSelection(checkedSelection(request.selection), parts.now());
  if (!Number.isFinite(threshold)) throw invalid(['scoreThreshold'], 'must be a number');
  refuseLarge(text, ['query']);
  if (text.trim() === '') return newest(parts, { owner, selected, limit });
  const vector = await embed(parts, { field: 'query', text }, call);
  const { store, now } = parts;
  return strategies[strategy]({
    ...{ store, owner, text, vector, metric, selected, limit, threshold, options },
    now: now(),
  });
}

interface Newest {
  readonly owner: string;
  readonly selected: Selected;
  readonly limit: number;
}

/** The newest memories, each with score 1: the result of a query without text. */
async function newest({ store }: Parts, { owner, selected, limit }: Newest): Promise<Ranked[]> {
  const { heads } = await store.list({ owner, ...selected, limit, without: 'metadata' });
  return heads.map((head) => ({ head, score: 1 }));
}
