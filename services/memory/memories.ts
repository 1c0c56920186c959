import { setImmediate as nextTurn } from 'node:timers/promises';
import { invalid, notFound, type ServiceError } from '@agent-workflow/kit/errors';
import { createQuota, pageBytes, toPage } from '@agent-workflow/kit/pages';
import type { Call } from '@agent-workflow/protos/call';
import { distanceMetrics, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory, MemoryItem, SearchRequest } from '@agent-workflow/protos/memory';
import { requestOf, type Repeatable } from '@agent-workflow/protos/repeats';
import {
  checkedSelection,
  oneOf,
  readCount,
  readMetadata,
  readOffset,
  refuseLarge,
  refuseLargeMetadata,
  refuseLate,
  refuseLong,
  refuseUnfit,
} from './record/checks.ts';
import { fromCursor, toCursor } from './record/cursor.ts';
import { embedTexts } from './embedders/embedding.ts';
import { narrows, readSelection, type Selected } from './record/filters.ts';
import { idByContent } from './record/id-by-content.ts';
import { textBytes, toJson } from './record/json.ts';
import { readSearchOptions } from './record/options.ts';
import type { Embedder, MemoryRecord, MemoryStore, SentRequest, StoredMemory } from './ports/port.ts';
import { vectorToJson } from './search/rank.ts';
import { strategies, type Ranked } from './search/strategies.ts';
import { countTokens, createBudget } from './words/tokens.ts';

export interface MemoriesOptions {
  readonly store: MemoryStore;
  readonly embedder: Embedder;
  /** relevance: days after which one half of the recency is left, unless a search says otherwise. */
  readonly halfLifeDays: number;
  readonly now?: () => number;
}

/** Memories that are read at once, each with its content and its vector. */
const memoriesAtOnce = 50;

/** The memory service on a store and an embedder. */
export function createMemories({ store, embedder, halfLifeDays, now = Date.now }: MemoriesOptions): Memory {
  const embed = async (field: 'content' | 'query', text: string, call: Call): Promise<Float32Array> => {
    const [vector] = await embedTexts(embedder, { texts: [text], field: [field] }, call);
    refuseLate(call);
    return vector as Float32Array;
  };

  /** The memories of these ids in their order, read some at a time; absent ones are left out. */
  async function* storedOf(owner: string, ids: readonly string[], call: Call): AsyncGenerator<StoredMemory> {
    for (let from = 0; from < ids.length; from += memoriesAtOnce) {
      refuseLate(call);
      yield* await store.get(owner, ids.slice(from, from + memoriesAtOnce));
    }
  }

  const toRecord = (parts: Omit<MemoryRecord, 'vectorJson' | 'timestamp'>): MemoryRecord => ({
    ...parts,
    vectorJson: vectorToJson(parts.vector),
    timestamp: now(),
  });

  /** How the store knows a request that its caller may send again. */
  const sent = (method: string, asked: Repeatable): SentRequest | undefined => {
    const known = requestOf(method, asked);
    return known && { ...known, at: now() };
  };

  const newest = async (owner: string, selected: Selected, limit: number): Promise<Ranked[]> => {
    const { heads } = await store.list({ owner, ...selected, limit, without: 'metadata' });
    return heads.map((head) => ({ head, score: 1 }));
  };

  const rank = async (request: SearchRequest, call: Call): Promise<Ranked[]> => {
    const { owner, query: text, scoreThreshold: threshold } = request;
    const strategy = oneOf(retrievalStrategies, request.retrievalStrategy, ['retrievalStrategy']);
    const metric = oneOf(distanceMetrics, request.distanceMetric, ['distanceMetric']);
    const limit = readCount(request.limit, ['limit']);
    const options = readSearchOptions(request.optionsJson, halfLifeDays);
    const selected = readSelection(checkedSelection(request.selection));
    if (!Number.isFinite(threshold)) throw invalid(['scoreThreshold'], 'must be a number');
    refuseLarge(text, ['query']);
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
      oneOf(memoryTypes, memoryType, ['memoryType']);
      refuseLong(category, ['category']);
      readMetadata(metadataJson);
      const putAs = async (memoryId: string): Promise<boolean> => {
        const vector = await embed('content', content, call);
        await settled(call);
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
      const maxTokens = readCount(request.maxTokens, ['maxTokens'], { min: 0, max: Infinity });
      const before = store.incompleteSince();
      const ranked = await rank(request, call);
      const incompleteSince = before ?? store.incompleteSince();
      const scores = new Map(ranked.map(({ head, score }) => [head.memoryId, score]));
      const isAffordable = createBudget<StoredMemory>(maxTokens, ({ content }) => countTokens(content));
      const fits = createBudget<StoredMemory>(pageBytes, bytesOf);
      const results: StoredMemory[] = [];
      for await (const memory of storedOf(request.owner, [...scores.keys()], call))
        if (isAffordable(memory) && fits(memory)) results.push(memory);
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

    update: async (asked, call) => {
      const { owner, memoryId, content, metadataJson } = asked;
      refuseLate(call);
      refuseUnfit(content);
      const given = metadataJson && readMetadata(metadataJson);
      const request = sent('update', asked);
      const [known] = await store.get(owner, [memoryId]);
      if (!known && !(request && (await store.findUpdated(owner, request)))) throw absent(memoryId);
      const vector = await embed('content', content, call);
      const change = (standing: StoredMemory): MemoryRecord => {
        const { memoryType, category, threadId } = standing;
        const merged = given ? toJson({ ...readMetadata(standing.metadataJson), ...given }) : standing.metadataJson;
        refuseLargeMetadata(merged);
        return toRecord({ memoryId, content, memoryType, category, threadId, metadataJson: merged, vector });
      };
      const updated = await store.update(owner, memoryId, change, request);
      if (!updated) throw absent(memoryId);
      return toItem({ ...updated, content, vectorJson: vectorToJson(vector) });
    },

    delete: async (asked, call) => {
      const { owner, memoryId } = asked;
      refuseLate(call);
      const { count } = await store.remove(owner, [memoryId], sent('delete', asked));
      if (count === 0) throw absent(memoryId);
      return {};
    },

    list: async ({ owner, selection, limit: asked, offset: from, cursor }, call) => {
      refuseLate(call);
      const limit = readCount(asked, ['limit']);
      const offset = cursor === undefined ? readOffset(from) : 0;
      const after = cursor === undefined ? undefined : fromCursor(cursor);
      const selected = readSelection(checkedSelection(selection));
      const page = { limit: limit + 1, offset, after, without: 'metadata' } as const;
      const { heads, total } = await store.list({ owner, ...selected, ...page });
      const found: StoredMemory[] = [];
      const isEnough = createQuota(pageBytes);
      const ids = heads.slice(0, limit).map(({ memoryId }) => memoryId);
      for await (const memory of storedOf(owner, ids, call)) {
        found.push(memory);
        if (isEnough(bytesOf(memory))) break;
      }
      const { items, hasMore } = toPage(found, { limit, sizeOf: bytesOf });
      const last = items.at(-1);
      return {
        memories: items.map((memory) => toItem(memory)),
        total,
        ...((hasMore || heads.length > limit) && last && { cursor: toCursor(last) }),
      };
    },

    forget: async (asked, call) => {
      const { owner, selection, all } = asked;
      refuseLate(call);
      const selected = readSelection(checkedSelection(selection));
      if (!all && !narrows(selected)) throw nothingNarrows();
      const { heads } = await store.list({ owner, ...selected, limit: Infinity, without: 'metadata' });
      const ids = heads.map(({ memoryId }) => memoryId);
      const { memoryIds, count } = await store.remove(owner, ids, sent('forget', asked));
      return { memoryIds, deletedCount: count };
    },
  };
}

/**
 * Lets what has arrived be read: while this process stood still, the caller may have stored the memory at another replica, and even
 * removed it since. Stored here now, it would come back.
 * @throws Cancelled or Timeout when the caller has given the call up.
 */
async function settled(call: Call): Promise<void> {
  for (let turns = 0; turns < turnsToRead; turns += 1) await nextTurn();
  refuseLate(call);
}

/** A request and the word that it is cancelled are read in one turn or in two, and take effect in the next. */
const turnsToRead = 3;

function toItem(memory: StoredMemory, score = 1): MemoryItem {
  const { memoryId, content, memoryType, category, metadataJson, vectorJson, threadId, timestamp } = memory;
  return { memoryId, content, memoryType, category, metadataJson, score, vectorJson, threadId, timestamp };
}

/** Keys, times and punctuation around a memory's own values. */
const frameBytes = 512;

/** What a memory takes in a reply. */
const bytesOf = ({ memoryId, content, category, threadId, metadataJson, vectorJson }: StoredMemory): number =>
  [memoryId, content, category, threadId].reduce((sum, text) => sum + textBytes(text), frameBytes) +
  metadataJson.byteLength +
  vectorJson.byteLength;

const absent = (memoryId: string): ServiceError => notFound(`memory "${memoryId}" does not exist`);

const nothingNarrows = (): ServiceError =>
  invalid(
    [],
    'must have memory_type, category, filters or config.thread_id; options.all forgets everything',
    'missing',
  );
