import { badRequest } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { isIn, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory } from '@agent-workflow/protos/memory';
import { within } from '@agent-workflow/protos/call';
import type { BoundMemory } from '@agent-workflow/graph/build/context';
import { fromJson } from '../record/run-options.ts';
import { isAway, whileAway } from '../record/away.ts';

/** How long one call may take before the memory service counts as away, in milliseconds. */
const memoryTimeoutMs = 30_000;
/** How long a node waits for the memory service to come back, in milliseconds: as long as its step would for the record. */
const waitMs = 15 * 60_000;

export interface MemoryScope {
  readonly owner: string;
  readonly threadId: string;
  /** Ends the calls under way, and the wait for a service that is away. */
  readonly signal: AbortSignal;
  /** Called when the memory service is away, and a node waits for it. */
  readonly onAway?: (error: unknown) => void;
  /** How long that wait is, in milliseconds. */
  readonly forMs?: number;
}

/** What was thrown to nodes because the memory service was away. */
const thrown = new WeakSet<object>();

/** Whether this was thrown to a node because the memory service was away for too long: no fault of the node. */
export const isMemoryAway = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && thrown.has(error);

/**
 * The memory service as nodes see it: only the owner's memories, and plain values instead of bytes. While the service is away
 * a call waits for it: each is made again with the same id, so that it takes effect once.
 */
export function bindMemory(
  memory: Memory,
  { owner, threadId, signal, onAway = () => undefined, forMs = waitMs }: MemoryScope,
): BoundMemory {
  const call = (): ReturnType<typeof within> => within(memoryTimeoutMs, signal);
  const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await whileAway(work, { signal, onAway, forMs });
    } catch (error) {
      if (isAway(error)) thrown.add(error as object);
      throw error;
    }
  };
  return {
    store: async ({ content, memoryType = 'semantic', category = 'general', metadata = {} }) => {
      const request = {
        owner,
        memoryId: newId(),
        content,
        memoryType: oneOf('memoryType', memoryTypes, memoryType),
        category,
        metadataJson: Buffer.from(JSON.stringify(metadata)),
        threadId,
      };
      const { memoryId } = await patiently(async () => memory.store(request, call()));
      return memoryId;
    },

    search: async (query, { limit = 10, strategy = 'similarity', scoreThreshold = 0, category, memoryType } = {}) => {
      const request = {
        owner,
        query,
        selection: {
          ...(category === undefined ? {} : { category }),
          ...(memoryType === undefined ? {} : { memoryType: oneOf('memoryType', memoryTypes, memoryType) }),
        },
        limit,
        scoreThreshold,
        retrievalStrategy: oneOf('strategy', retrievalStrategies, strategy),
        distanceMetric: 'cosine' as const,
        maxTokens: 4000,
      };
      const { results } = await patiently(async () => memory.search(request, call()));
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
      const request = { owner, memoryId, attemptId: newId() };
      await patiently(async () => memory.delete(request, call()));
    },
  };
}

/** What a node named, as one of a list: the code of an agent is not held to our types. */
function oneOf<const T extends readonly string[]>(name: string, list: T, given: string): T[number] {
  if (isIn(list, given)) return given;
  throw badRequest(`${name} must be one of ${list.join(', ')}`);
}
