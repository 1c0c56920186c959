import { jsonBytes, jsonObject } from '../../../../http/json.ts';
import { maxLimit } from '../../schemas/common.ts';
import { FoundMemories, SearchMemories } from '../../schemas/memories.ts';
import { endpoint } from '../common/endpoint.ts';
import { memoriesText } from './memory-text.ts';
import { selectionOf } from './selection.ts';
import * as examples from './examples.ts';

/** The best matches for a query, by the strategy and the metric of the request. */
export const searchMemories = endpoint({
  name: 'searchMemories',
  tag: 'memories',
  summary: 'Search memories',
  description: 'The memories of the owner that fit a query best, by the strategy and the metric of the request.',
  example: examples.searchMemories,
  method: 'POST',
  path: '/v1/store/search',
  access: { resource: 'store', action: 'read' },
  input: SearchMemories,
  reply: FoundMemories,
  handle: async ({ input, owner, call, addReplyMetadata }, { memory }) => {
    const request = {
      owner,
      query: input.query.toWellFormed(),
      selection: selectionOf(input),
      limit: Math.min(input.limit, maxLimit),
      scoreThreshold: input.score_threshold,
      retrievalStrategy: input.retrieval_strategy,
      distanceMetric: input.distance_metric,
      maxTokens: input.max_tokens,
      ...(input.options && { optionsJson: jsonBytes(input.options) }),
    };
    const { results, incompleteSince } = await memory.search(request, call());
    if (incompleteSince !== undefined) {
      addReplyMetadata({ incomplete_since: new Date(incompleteSince).toISOString() });
    }
    return jsonObject({ results: memoriesText(results, owner) });
  },
});
