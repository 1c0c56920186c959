import type { ThreadStatus } from '@agent-workflow/protos/lists';
import type { ThreadFilter } from '@agent-workflow/protos/threads';
import { jsonBytes } from '../../../http/json.ts';
import { boundedBytes } from '../../common/bounded.ts';
import { comparedBytes, metadataFilter } from '../../common/metadata-filter.ts';
import { agentOfAssistant, assistantIdOf } from '../ids/assistant-id.ts';
import { statusOfThread } from '../out/thread.ts';
import type { ThreadFilterInput } from '../schemas/threads.ts';

/**
 * Which threads a request means. The graph of a thread, and the graph's own assistant, need not stand in its metadata: `graph_id` and the id of
 * such an assistant are compared with the agent, and with what the metadata says instead. `undefined`: none can pass.
 */
export function toThreadFilter(input: ThreadFilterInput, agents: readonly string[]): ThreadFilter | undefined {
  const { ids = [], status, metadata = {}, values } = input;
  const { graph_id: graph, assistant_id: assistant, ...others } = metadata;
  const ofGraph = typeof graph === 'string' && agents.includes(graph) ? graph : undefined;
  const ofAssistant = typeof assistant === 'string' ? agentOfAssistant(assistant, agents) : undefined;
  if (ofGraph !== undefined && ofAssistant !== undefined && ofGraph !== ofAssistant) return undefined;
  const agent = ofGraph ?? ofAssistant;
  const compared = {
    ...others,
    ...(graph !== undefined && ofGraph === undefined && { graph_id: graph }),
    ...(assistant !== undefined && ofAssistant === undefined && { assistant_id: assistant }),
  };
  const ifAny = {
    ...(ofGraph !== undefined && { graph_id: ofGraph }),
    ...(ofAssistant !== undefined && { assistant_id: assistantIdOf(ofAssistant) }),
  };
  return {
    threadIds: ids,
    statuses: status === undefined ? [] : statusesOf(status),
    ...(agent !== undefined && { agent, metadataIfAnyJson: jsonBytes(ifAny) }),
    ...(Object.keys(compared).length > 0 && { metadataJson: metadataFilter(compared, ['body', 'metadata']) }),
    ...(values && { valuesJson: boundedBytes(values, ['body', 'values'], comparedBytes) }),
  };
}

const statusesOf = (status: string): readonly ThreadStatus[] =>
  (Object.keys(statusOfThread) as ThreadStatus[]).filter((ours) => statusOfThread[ours] === status);
