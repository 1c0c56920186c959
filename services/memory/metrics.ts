import { counter, histogram } from '@agent-workflow/runtime/metrics';
import { retrievalStrategies } from '@agent-workflow/protos/lists';

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];

/** The metrics of the memory service. */
export const memoryMetrics = {
  search: histogram(
    'agent_workflow_memory_search_seconds',
    'Time until a search was answered, its embedding included',
    { strategy: retrievalStrategies },
    seconds,
  ),
  embedderCalls: counter('agent_workflow_embedder_calls_total', 'Requests to the embedder', {
    outcome: ['ok', 'failed'],
  }),
  embedder: histogram(
    'agent_workflow_embedder_seconds',
    'Time until the embedder answered a request, or failed to',
    {},
    seconds,
  ),
};
