import { counter, histogram, type Registry } from '@agent-workflow/runtime/metrics';
import { retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Embedder } from './ports/port.ts';

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];

/** What the memory service measures. */
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

/** Both as they were given, measured where there is a registry. */
export interface MeasureMemory {
  readonly embedder: (embedder: Embedder) => Embedder;
  readonly memory: (memory: Memory) => Memory;
}

export function measureMemory(registry: Registry | undefined): MeasureMemory {
  if (!registry) return { embedder: (embedder) => embedder, memory: (memory) => memory };
  const meters = registry.make(memoryMetrics);
  const since = (start: number): number => (performance.now() - start) / 1000;
  return {
    embedder: (embedder) => ({
      ...embedder,
      embed: async (texts, call) => {
        const start = performance.now();
        let outcome = 'failed';
        try {
          const vectors = await embedder.embed(texts, call);
          outcome = 'ok';
          return vectors;
        } finally {
          meters.embedderCalls.add({ outcome });
          meters.embedder.observe({}, since(start));
        }
      },
    }),
    memory: (memory) => ({
      ...memory,
      search: async (request, call) => {
        const start = performance.now();
        const reply = await memory.search(request, call);
        meters.search.observe({ strategy: request.retrievalStrategy }, since(start));
        return reply;
      },
    }),
  };
}
