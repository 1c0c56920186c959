import type { BoundMemory, MemoryFound } from '../build/context.ts';
import { memoryStrategies, memoryTypes, requireListed } from '../build/memory-lists.ts';
import { toStrictJson } from '../state/json-value.ts';

/** A memory as {@link fakeMemory} keeps it. */
export type StoredMemory = Omit<MemoryFound, 'score'>;

export interface FakeMemory extends BoundMemory {
  /** What is stored, oldest first. */
  readonly stored: readonly StoredMemory[];
}

/** The most bytes of a memory's metadata. */
const maxMetadataBytes = 64 * 1024;

/**
 * A memory for tests, in the process. `search` finds the memories that hold words of the query, those with most of them first; the
 * score is the part of its words that they hold, and strategies make no difference.
 * @example walk(graph, { context: [user('Which colour?')], run: { memory: fakeMemory() } })
 */
export function fakeMemory(): FakeMemory {
  const stored: StoredMemory[] = [];
  let count = 0;
  return {
    stored,
    store: async ({ content, memoryType = 'semantic', category = 'general', metadata = {} }) => {
      if (typeof content !== 'string' || content.trim() === '')
        throw new TypeError('content of a memory must be a text');
      requireListed('memoryType', memoryTypes, memoryType);
      // Not at random, so that two tests that do the same store the same.
      const id = `memory-${String(++count)}`;
      const own = toStrictJson(metadata, 'metadata', maxMetadataBytes) as StoredMemory['metadata'];
      stored.push({ id, content, memoryType, category, metadata: own });
      return id;
    },
    search: async (query, { limit = 10, strategy, scoreThreshold = 0, category, memoryType } = {}) => {
      if (typeof query !== 'string') throw new TypeError('query of a search of memories must be a text');
      requireListed('strategy', memoryStrategies, strategy);
      requireListed('memoryType', memoryTypes, memoryType);
      return stored
        .filter((memory) => category === undefined || memory.category === category)
        .filter((memory) => memoryType === undefined || memory.memoryType === memoryType)
        .map((memory) => ({ ...memory, score: scoreOf(query, memory.content) }))
        .filter(({ score }) => score > 0 && score >= scoreThreshold)
        .toSorted((one, other) => other.score - one.score)
        .slice(0, limit);
    },
    delete: async (id) => {
      if (typeof id !== 'string') throw new TypeError('id of a memory to delete must be a text');
      const at = stored.findIndex((memory) => memory.id === id);
      if (at >= 0) stored.splice(at, 1);
    },
  };
}

function scoreOf(query: string, content: string): number {
  const terms = wordsOf(query);
  const words = wordsOf(content);
  const held = [...terms].filter((term) => words.has(term)).length;
  return terms.size === 0 ? 0 : held / terms.size;
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
