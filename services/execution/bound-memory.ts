import { newId } from '@agent-workflow/kit/ids';
import type { Memory } from '@agent-workflow/protos/memory';
import { within } from '@agent-workflow/protos/call';
import type { BoundMemory } from './engine/context.ts';
import { fromJson } from './options.ts';

/** How long a node waits for the memory service, in milliseconds. */
const memoryTimeoutMs = 30_000;

export interface MemoryScope {
  readonly owner: string;
  readonly threadId: string;
  readonly signal: AbortSignal;
}

/** The memory service as nodes see it: only the owner's memories, and plain values instead of bytes. */
export function bindMemory(memory: Memory, { owner, threadId, signal }: MemoryScope): BoundMemory {
  const call = (): ReturnType<typeof within> => within(memoryTimeoutMs, signal);
  return {
    store: async ({ content, memoryType = 'semantic', category = 'general', metadata = {} }) => {
      const { memoryId } = await memory.store(
        {
          owner,
          memoryId: newId(),
          content,
          memoryType,
          category,
          metadataJson: Buffer.from(JSON.stringify(metadata)),
          threadId,
        },
        call(),
      );
      return memoryId;
    },

    search: async (query, { limit = 10, strategy = 'similarity', scoreThreshold = 0, category, memoryType } = {}) => {
      const { results } = await memory.search(
        {
          owner,
          query,
          selection: {
            ...(category === undefined ? {} : { category }),
            ...(memoryType === undefined ? {} : { memoryType }),
          },
          limit,
          scoreThreshold,
          retrievalStrategy: strategy,
          distanceMetric: 'cosine',
          maxTokens: 4000,
        },
        call(),
      );
      return results.map((item) => ({
        id: item.memoryId,
        content: item.content,
        score: item.score,
        memoryType: item.memoryType,
        category: item.category,
        metadata: fromJson(item.metadataJson) as Record<string, unknown>,
      }));
    },

    delete: async (memoryId) => {
      await memory.delete({ owner, memoryId }, call());
    },
  };
}
