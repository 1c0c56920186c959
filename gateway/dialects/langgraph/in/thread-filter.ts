import type { ThreadStatus } from '@agent-workflow/protos/lists';
import type { ThreadFilter } from '@agent-workflow/protos/threads';
import { boundedBytes } from '../../common/bounded.ts';
import { agentOfAssistant } from '../ids/assistant-id.ts';
import { statusOfThread } from '../out/thread.ts';
import type { ThreadFilterInput } from '../schemas/threads.ts';

/** What a request compares metadata and values with, in bytes: each. */
const comparedBytes = 64 * 1024;

/**
 * Which threads a request means. The graph that a thread belongs to is no part of its metadata here: `graph_id`, and the id of a graph's own
 * assistant, are compared with that. `undefined`: none can pass.
 */
export function toThreadFilter(input: ThreadFilterInput, agents: readonly string[]): ThreadFilter | undefined {
  const { ids = [], status, metadata = {}, values } = input;
  const { graph_id: graph, assistant_id: assistant, ...others } = metadata;
  const ofAssistant = typeof assistant === 'string' ? agentOfAssistant(assistant, agents) : undefined;
  const named = [...(graph === undefined ? [] : [graph]), ...(ofAssistant === undefined ? [] : [ofAssistant])];
  const [agent] = named;
  if (named.some((name) => name !== agent || typeof name !== 'string')) return undefined;
  const compared = {
    ...others,
    ...(assistant !== undefined && ofAssistant === undefined && { assistant_id: assistant }),
  };
  return {
    threadIds: ids,
    statuses: status === undefined ? [] : statusesOf(status),
    ...(typeof agent === 'string' && { agent }),
    ...(Object.keys(compared).length > 0 && {
      metadataJson: boundedBytes(compared, ['body', 'metadata'], comparedBytes),
    }),
    ...(values && { valuesJson: boundedBytes(values, ['body', 'values'], comparedBytes) }),
  };
}

const statusesOf = (status: string): readonly ThreadStatus[] =>
  (Object.keys(statusOfThread) as ThreadStatus[]).filter((ours) => statusOfThread[ours] === status);
