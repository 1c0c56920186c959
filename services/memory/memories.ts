import { invalid, notFound, type ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Call } from '@agent-workflow/protos/call';
import type { Memory, MemoryItem, SearchRequest } from '@agent-workflow/protos/memory';
import {
  checkedSelection,
  memoryTypes,
  oneOf,
  readCount,
  readMetadata,
  readOffset,
  refuseLarge,
  refuseLargeMetadata,
  refuseLate,
  refuseLong,
  refuseUnfit,
} from './checks.ts';
import { fromCursor, toCursor } from './cursor.ts';
import { embedTexts } from './embedding.ts';
import { narrows, readSelection, type Selected } from './filters.ts';
import { idByContent } from './id-by-content.ts';
import { toJson } from './json.ts';
import { readSearchOptions } from './options.ts';
import type { Embedder, MemoryRecord, MemoryStore, StoredMemory } from './port.ts';
import { distanceMetrics, vectorToJson } from './rank.ts';
import { retrievalStrategies, strategies, type Ranked } from './strategies.ts';
import { countTokens, fitWithin } from './tokens.ts';

export interface MemoriesOptions {
  readonly store: MemoryStore;
  readonly embedder: Embedder;
  /** relevance: days after which one half of the recency is left, unless a search says otherwise. */
  readonly halfLifeDays: number;
  readonly now?: () => number;
}

/** What all replies stay below: room for the frame around the items within one gRPC message. */
const replyBytes = sizes.rpc - 2 * 1024 * 1024;

/** The memory service on a store and an embedder. */
export function createMemories({ store, embedder, halfLifeDays, now = Date.now }: MemoriesOptions): Memory {
  const embed = async (field: 'content' | 'query', text: string, call: Call): Promise<Float32Array> => {
    const [vector] = await embedTexts(embedder, { texts: [text], loc: ['body', field] }, call);
    refuseLate(call);
    return vector as Float32Array;
  };

  const toRecord = (parts: Omit<MemoryRecord, 'vectorJson' | 'timestamp'>): MemoryRecord => ({
    ...parts,
    vectorJson: vectorToJson(parts.vector),
    timestamp: now(),
  });

  const newest = async (owner: string, selected: Selected, limit: number): Promise<Ranked[]> => {
    const { heads } = await store.list({ owner, ...selected, limit });
    return heads.map((head) => ({ head, score: 1 }));
  };

  const rank = async (request: SearchRequest, call: Call): Promise<Ranked[]> => {
    const { owner, query: text, scoreThreshold: threshold } = request;
    const strategy = oneOf(retrievalStrategies, request.retrievalStrategy, ['body', 'retrieval_strategy']);
    const metric = oneOf(distanceMetrics, request.distanceMetric, ['body', 'distance_metric']);
    const limit = readCount(request.limit, ['body', 'limit']);
    const options = readSearchOptions(request.optionsJson, halfLifeDays);
    const selected = readSelection(checkedSelection(request.selection));
    if (!Number.isFinite(threshold)) throw invalid(['body', 'score_threshold'], 'must be a number');
    refuseLarge(text, ['body', 'query']);
    if (text.trim() === '') return newest(owner, selected, limit);
    const vector = await embed('query', text, call);
    return strategies[strategy]({
      store,
      owner,
      text,
      vector,
      metric,
      selected,
      limit,
      threshold,
      options,
      now: now(),
    });
  };

  return {
    store: async (request, call) => {
      const { owner, content, memoryType, category, metadataJson, threadId = '' } = request;
      refuseLate(call);
      refuseUnfit(content);
      oneOf(memoryTypes, memoryType, ['body', 'memory_type']);
      refuseLong(category, ['body', 'category']);
      readMetadata(metadataJson);
      const putAs = async (memoryId: string): Promise<boolean> => {
        const vector = await embed('content', content, call);
        return store.put(owner, toRecord({ memoryId, content, memoryType, category, metadataJson, threadId, vector }));
      };
      if (request.dedupe) {
        const memoryId = idByContent(request);
        const [known] = await store.get(owner, [memoryId]);
        if (known ? known.content === content : await putAs(memoryId)) return { memoryId };
        // Either another was faster, or what was stored under this id has been changed since.
        if ((await store.get(owner, [memoryId]))[0]?.content === content) return { memoryId };
      }
      await putAs(request.memoryId);
      return { memoryId: request.memoryId };
    },

    search: async (request, call) => {
      refuseLate(call);
      const maxTokens = readCount(request.maxTokens, ['body', 'max_tokens'], { min: 0, max: Infinity });
      const before = store.incompleteSince();
      const ranked = await rank(request, call);
      const incompleteSince = before ?? store.incompleteSince();
      const scores = new Map(ranked.map(({ head, score }) => [head.memoryId, score]));
      const memories = await store.get(request.owner, [...scores.keys()]);
      const affordable = fitWithin(memories, maxTokens, ({ content }) => countTokens(content));
      const results = fitWithin(affordable, replyBytes, bytesOf);
      return {
        results: results.map((memory) => toItem(memory, scores.get(memory.memoryId))),
        ...(incompleteSince !== undefined && { incompleteSince }),
      };
    },

    get: async ({ owner, memoryId }, call) => {
      refuseLate(call);
      const [memory] = await store.get(owner, [memoryId]);
      if (!memory) throw absent(memoryId);
      return toItem(memory);
    },

    update: async ({ owner, memoryId, content, metadataJson }, call) => {
      refuseLate(call);
      refuseUnfit(content);
      const given = metadataJson && readMetadata(metadataJson);
      const [known] = await store.get(owner, [memoryId]);
      if (!known) throw absent(memoryId);
      const vector = await embed('content', content, call);
      const updated = await store.update(owner, memoryId, (standing) => {
        const { memoryType, category, threadId } = standing;
        const merged = given ? toJson({ ...readMetadata(standing.metadataJson), ...given }) : standing.metadataJson;
        refuseLargeMetadata(merged);
        return toRecord({ memoryId, content, memoryType, category, threadId, metadataJson: merged, vector });
      });
      if (!updated) throw absent(memoryId);
      return toItem(updated);
    },

    delete: async ({ owner, memoryId }, call) => {
      refuseLate(call);
      const removed = await store.remove(owner, [memoryId]);
      if (removed.length === 0) throw absent(memoryId);
      return {};
    },

    list: async ({ owner, selection, limit: asked, offset: from, cursor }, call) => {
      refuseLate(call);
      const limit = readCount(asked, ['query', 'limit']);
      const offset = cursor === undefined ? readOffset(from) : 0;
      const after = cursor === undefined ? undefined : fromCursor(cursor);
      const selected = readSelection(checkedSelection(selection));
      const { heads, total } = await store.list({ owner, ...selected, limit: limit + 1, offset, after });
      const found = await store.get(
        owner,
        heads.slice(0, limit).map(({ memoryId }) => memoryId),
      );
      const memories = pageWithin(found, replyBytes);
      const last = memories.at(-1);
      const more = heads.length > limit || memories.length < found.length;
      return {
        memories: memories.map((memory) => toItem(memory)),
        total,
        ...(more && last && { cursor: toCursor(last) }),
      };
    },

    forget: async ({ owner, selection, all }, call) => {
      refuseLate(call);
      const selected = readSelection(checkedSelection(selection));
      if (!all && !narrows(selected)) throw nothingNarrows();
      const { heads } = await store.list({ owner, ...selected, limit: Infinity });
      const memoryIds = await store.remove(
        owner,
        heads.map(({ memoryId }) => memoryId),
      );
      return { memoryIds };
    },
  };
}

function toItem(memory: StoredMemory, score = 1): MemoryItem {
  const { memoryId, content, memoryType, category, metadataJson, vectorJson, threadId, timestamp } = memory;
  return { memoryId, content, memoryType, category, metadataJson, score, vectorJson, threadId, timestamp };
}

const bytesOf = ({ content, metadataJson, vectorJson }: StoredMemory): number =>
  Buffer.byteLength(content) + metadataJson.byteLength + vectorJson.byteLength;

/** The first of the items, as many as `budget` bytes hold but at least one: the cursor goes on after them. */
function pageWithin(memories: readonly StoredMemory[], budget: number): readonly StoredMemory[] {
  let left = budget;
  const end = memories.findIndex((memory, index) => (left -= bytesOf(memory)) < 0 && index > 0);
  return end === -1 ? memories : memories.slice(0, end);
}

const absent = (memoryId: string): ServiceError => notFound(`memory "${memoryId}" does not exist`);

const nothingNarrows = (): ServiceError =>
  invalid(
    ['body'],
    'must have memory_type, category, filters or config.thread_id; options.all forgets everything',
    'missing',
  );
