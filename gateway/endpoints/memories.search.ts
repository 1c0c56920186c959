import type { Static } from 'typebox';
import { jsonBytes, jsonObject } from '../http/json.ts';
import { maxLimit } from '../schemas/common.ts';
import type { SearchMemories } from '../schemas/memories.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { memoriesText, selectionOf } from './memories.ts';

/** The memories that answer a query best, by the strategy and the metric asked for. */
export async function searchMemories(
  ask: Ask<unknown, Static<typeof SearchMemories>>,
  { memory }: Services,
): Promise<string> {
  const { input, owner } = ask;
  const request = {
    owner,
    query: input.query,
    selection: selectionOf(input),
    limit: Math.min(input.limit, maxLimit),
    scoreThreshold: input.score_threshold,
    retrievalStrategy: input.retrieval_strategy,
    distanceMetric: input.distance_metric,
    maxTokens: input.max_tokens,
    ...(input.options && { optionsJson: jsonBytes(input.options) }),
  };
  const { results, incompleteSince } = await memory.search(request, ask.call());
  if (incompleteSince !== undefined) {
    ask.addReplyMetadata({ incomplete_since: new Date(incompleteSince).toISOString() });
  }
  return jsonObject({ results: memoriesText(results, owner) });
}
