import { badRequest } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { isIn, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory } from '@agent-workflow/protos/memory';
import { within } from '@agent-workflow/protos/call';
import type { BoundMemory } from '@agent-workflow/graph/build/context';
import { fromJson } from '../record/json.ts';
import { isAway, whileAway } from '../record/away.ts';

/** How long one call may take before the memory service counts as unavailable, in milliseconds. */
const memoryTimeoutMs = 30_000;
/** How long a node waits for an unavailable memory service, in milliseconds: as long as its step waits for the record. */
const waitMs = 15 * 60_000;

interface MemoryScope {
  readonly owner: string;
  readonly threadId: string;
  /** Ends the calls under way, and the wait for an unavailable service. */
  readonly signal: AbortSignal;
  /** Called when the memory service is unavailable and a node waits for it. */
  readonly onAway?: (error: unknown) => void;
  /** How long a node waits at most, in milliseconds. */
  readonly forMs?: number;
}

/** Errors that nodes got because the memory service was unavailable. */
const thrown = new WeakSet<object>();

/** Whether a node got this error because the memory service was unavailable for too long, which is not its fault. */
export const isMemoryAway = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && thrown.has(error);

/**
 * The memory service as nodes see it: only the owner's memories, and plain values instead of bytes. While the service is
 * unavailable, a call is repeated with the same id, so that it takes effect once.
 */
export function bindMemory(
  memory: Memory,
  { owner, threadId, signal, onAway = () => undefined, forMs = waitMs }: MemoryScope,
): BoundMemory {
  const call = (): ReturnType<typeof within> => within(memoryTimeoutMs, signal);
  const repeated = async <T>(work: () => Promise<T>): Promise<T> => {
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
      const { memoryId } = await repeated(async () => memory.store(request, call()));
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
      const { results } = await repeated(async () => memory.search(request, call()));
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
      await repeated(async () => memory.delete(request, call()));
    },
  };
}

/** Checks a value that a node gave: agents' code need not be type-checked. */
function oneOf<const T extends readonly string[]>(name: string, list: T, given: string): T[number] {
  if (isIn(list, given)) return given;
  throw badRequest(`${name} must be one of ${list.join(', ')}`);
}
