import type { Memory } from '@agent-workflow/protos/memory';
import type { Registry } from '@agent-workflow/runtime/metrics';
import { memoryMetrics } from './metrics.ts';
import type { Embedder } from './ports/embedder.ts';

/** Wraps the embedder and the service so that they are measured; without a registry they are returned as they are. */
interface MeasureMemory {
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
