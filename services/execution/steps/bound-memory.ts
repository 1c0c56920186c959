import { badRequest } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { isIn, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory } from '@agent-workflow/protos/memory';
import { within } from '@agent-workflow/protos/call';
import type { BoundMemory } from '@agent-workflow/graph/build/context';
import { fromJson } from '../record/json.ts';
import { callForNode, type NodeWait } from './node-calls.ts';

/** How long one call may take before the memory service counts as unavailable, in milliseconds. */
const memoryTimeoutMs = 30_000;
interface MemoryScope extends NodeWait {
  readonly owner: string;
  readonly threadId: string;
}

/**
 * The memory service as nodes see it: only the owner's memories, and plain values instead of bytes. While the service is
 * unavailable, a call is repeated with the same id, so that it takes effect once.
 */
export function bindMemory(memory: Memory, scope: MemoryScope): BoundMemory {
  const { owner, threadId, signal } = scope;
  const call = (): ReturnType<typeof within> => within(memoryTimeoutMs, signal);
  const repeated = <T>(work: () => Promise<T>): Promise<T> => callForNode(work, scope);
  return {
    store: async (item) => {
      refuseUnfit(item);
      const { content, memoryType = 'semantic', category = 'general', metadata = {} } = item;
      const request = {
        owner,
        memoryId: newId(),
        content: wellFormed(content),
        memoryType: oneOf('memoryType', memoryTypes, memoryType),
        category: wellFormed(category),
        metadataJson: Buffer.from(JSON.stringify(metadata)),
        threadId,
      };
      const { memoryId } = await repeated(async () => memory.store(request, call()));
      return memoryId;
    },

    search: async (query, { limit = 10, strategy = 'similarity', scoreThreshold = 0, category, memoryType } = {}) => {
      requireQuery(query);
      const request = {
        owner,
        query: wellFormed(query),
        selection: {
          ...(category === undefined ? {} : { category: wellFormed(category) }),
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
      requireId(memoryId);
      const request = { owner, memoryId, attemptId: newId() };
      await repeated(async () => memory.delete(request, call()));
    },
  };
}

/** A text without halves of surrogate pairs, each of which gRPC would send as three signs. The memory service refuses what is no text. */
const wellFormed = <T>(given: T): T | string => (typeof given === 'string' ? given.toWellFormed() : given);

/** Checks what a node gave to be stored: without its text, the memory service would only find an empty one. */
function refuseUnfit(item: unknown): void {
  const content = typeof item === 'object' && item !== null && 'content' in item ? item.content : undefined;
  if (typeof content !== 'string')
    throw badRequest('memory.store takes an object whose content is a text: { content }');
}

/** Checks what a node searches for: anything but a text would fail in the memory service, which could not say why. */
function requireQuery(query: unknown): void {
  if (typeof query !== 'string') throw badRequest('memory.search takes a text as its query');
}

/** Checks what a node deletes, which is often the memory that it found instead of its id. */
function requireId(memoryId: unknown): void {
  if (typeof memoryId !== 'string') throw badRequest('memory.delete takes the id of a memory, which is a text');
}

/** Checks a value that a node gave: agents' code need not be type-checked. */
function oneOf<const T extends readonly string[]>(name: string, list: T, given: string): T[number] {
  if (isIn(list, given)) return given;
  throw badRequest(`${name} must be one of ${list.join(', ')}`);
}
