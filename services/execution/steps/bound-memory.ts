import { badRequest } from '@agent-workflow/kit/errors';
import { idFrom, newId } from '@agent-workflow/kit/ids';
import { distanceMetrics, isIn, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory, MemoryItem, Selection } from '@agent-workflow/protos/memory';
import { readTime } from '@agent-workflow/protos/message';
import { within } from '@agent-workflow/protos/call';
import { mostMemories } from '@agent-workflow/protos/run-trace';
import {
  memoryNames,
  type BoundMemory,
  type MemoryChange,
  type MemoryConditions,
  type MemoryFound,
} from '@agent-workflow/graph/build/context';
import { refuseUnknown } from '@agent-workflow/graph/state/refuse-unknown';
import { tracedCode } from '@agent-workflow/graph/trace/current-span';
import { fromJson } from '../record/json.ts';
import { callForNode, type NodeWait } from './node-calls.ts';

/** How long one call may take before the memory service counts as unavailable, in milliseconds. */
const memoryTimeoutMs = 30_000;
interface MemoryScope extends NodeWait {
  readonly owner: string;
  readonly threadId: string;
  /** The same for a node or a call that begins again; absent: each call has its effect anew. */
  readonly key?: string | undefined;
}

/**
 * The memory service as nodes see it: only the owner's memories, and plain values instead of bytes. While the service is
 * unavailable, a call is repeated with the same id, so that it takes effect once; so is one of a node that begins again.
 */
export function bindMemory(memory: Memory, scope: MemoryScope): BoundMemory {
  const { owner, threadId, signal } = scope;
  const call = (): ReturnType<typeof within> => within(memoryTimeoutMs, signal);
  const repeated = <T>(work: () => Promise<T>): Promise<T> => callForNode(work, scope);
  const idOf = createIds(scope.key);
  const noteFound = createNotes();
  return {
    store: async (item) => {
      refuseUnfit(item);
      refuseNames('store', item);
      const { content, memoryType = 'semantic', category = 'general', metadata = {}, key } = item;
      const fields = {
        content: wellFormed(content),
        memoryType: oneOf('memoryType', memoryTypes, memoryType),
        category: wellFormed(category),
      };
      const memoryId = key === undefined ? idOf('store', ...Object.values(fields)) : idOfKey(key);
      const metadataJson = toJson(metadata);
      const request = { owner, memoryId, ...fields, metadataJson, threadId, ...timesOf(item) };
      return (await repeated(async () => memory.store(request, call()))).memoryId;
    },

    search: async (query, options = {}) => {
      requireQuery(query);
      refuseNames('search', options);
      const { limit = 10, strategy = 'similarity', scoreThreshold = 0, distanceMetric = 'cosine' } = options;
      const request = {
        owner,
        query: wellFormed(query),
        selection: selectionOf(options),
        limit,
        scoreThreshold,
        retrievalStrategy: oneOf('strategy', retrievalStrategies, strategy),
        distanceMetric: oneOf('distanceMetric', distanceMetrics, distanceMetric),
        maxTokens: options.maxTokens ?? 4000,
        ...(options.options && { optionsJson: toJson(options.options) }),
      };
      const { results } = await repeated(async () => memory.search(request, call()));
      noteFound(results);
      return results.map(toFound);
    },

    update: async (id, change) => {
      requireId('update', id);
      refuseUnfit(change, 'memory.update takes an id and an object whose content is a text: { content }');
      refuseNames('update', change);
      const { content, metadata } = change;
      const request = {
        ...{ owner, memoryId: id, content: wellFormed(content), onceKey: idOf('update', id, JSON.stringify(change)) },
        ...(metadata && { metadataJson: toJson(metadata) }),
        ...timesOf(change),
      };
      return toFound(await repeated(async () => memory.update(request, call())));
    },

    list: async (options = {}) => {
      refuseNames('list', options);
      const { limit = 100, cursor } = options;
      const page = { limit, offset: 0, ...(cursor !== undefined && { cursor }) };
      const request = { owner, selection: selectionOf(options), ...page };
      const { memories, total, cursor: next } = await repeated(async () => memory.list(request, call()));
      return { memories: memories.map(toFound), total, ...(next !== undefined && { cursor: next }) };
    },

    delete: async (memoryId) => {
      requireId('delete', memoryId);
      const request = { owner, memoryId, onceKey: idOf('delete', memoryId) };
      await repeated(async () => memory.delete(request, call()));
    },
  };
}

/** Notes in the trace which memories the code that runs has found, each once: who reads an answer sees what it may come from. */
function createNotes(): (results: readonly MemoryItem[]) => void {
  const found = new Map<unknown, Set<string>>();
  return (results) => {
    const span = tracedCode()?.span;
    if (!span || results.length === 0) return;
    const ids = found.get(span) ?? new Set();
    found.set(span, ids);
    for (const { memoryId } of results) if (ids.size < mostMemories) ids.add(memoryId);
    span.note({ memories: [...ids] });
  };
}

/**
 * Gives each call its id: of the n-th equal call of a node or a tool call the same, whenever that begins. Without a key each is new.
 */
function createIds(key: string | undefined): (...parts: readonly string[]) => string {
  let counts: Map<string, number> | undefined;
  return (...parts) => {
    if (key === undefined) return newId();
    counts ??= new Map();
    const base = idFrom(JSON.stringify([key, ...parts]), 'memory');
    const count = counts.get(base) ?? 0;
    counts.set(base, count + 1);
    return count === 0 ? base : idFrom(JSON.stringify([base, count]), 'memory');
  };
}

const longestKey = 256;

function idOfKey(key: unknown): string {
  if (typeof key !== 'string' || key === '' || key.length > longestKey)
    throw badRequest(`key of memory.store must be a text of 1 to ${String(longestKey)} characters`);
  return idFrom(JSON.stringify(['key', key]), 'memory');
}

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** @throws BadRequest for a member that the call does not know. */
function refuseNames(method: keyof typeof memoryNames, given: object): void {
  try {
    refuseUnknown(`what memory.${method} is given`, '', given, memoryNames[method]);
  } catch (error) {
    throw badRequest((error as Error).message);
  }
}

function selectionOf({ category, memoryType, threadId, filters }: MemoryConditions): Selection {
  return {
    ...(category !== undefined && { category: wellFormed(category) }),
    ...(memoryType !== undefined && { memoryType: oneOf('memoryType', memoryTypes, memoryType) }),
    ...(threadId !== undefined && { threadId }),
    ...(filters && { filtersJson: toJson(filters) }),
  };
}

/** The times that a node gives. @throws Invalid for one that cannot be read. */
function timesOf({ timestamp, expiresAt }: Pick<MemoryChange, 'timestamp' | 'expiresAt'>): {
  timestamp?: number;
  expiresAt?: number;
} {
  const read = (given: unknown, name: string): number | undefined =>
    readTime(given instanceof Date ? given.getTime() : given, [name]);
  const [at, until] = [read(timestamp, 'timestamp'), read(expiresAt, 'expiresAt')];
  return { ...(at !== undefined && { timestamp: at }), ...(until !== undefined && { expiresAt: until }) };
}

const toFound = (item: MemoryItem): MemoryFound => ({
  id: item.memoryId,
  content: item.content,
  score: item.score,
  memoryType: item.memoryType,
  category: item.category,
  metadata: fromJson(item.metadataJson) as Record<string, unknown>,
  timestamp: new Date(item.timestamp).toISOString(),
  ...(item.expiresAt !== undefined && { expiresAt: new Date(item.expiresAt).toISOString() }),
});

/** A text without halves of surrogate pairs, each of which gRPC would send as three signs. The memory service refuses what is no text. */
const wellFormed = <T>(given: T): T | string => (typeof given === 'string' ? given.toWellFormed() : given);

/** Checks what a node gave to be stored: without its text, the memory service would only find an empty one. */
function refuseUnfit(
  item: unknown,
  what = 'memory.store takes an object whose content is a text: { content }',
): asserts item is object {
  const content = typeof item === 'object' && item !== null && 'content' in item ? item.content : undefined;
  if (typeof content !== 'string') throw badRequest(what);
}

/** Checks what a node searches for: anything but a text would fail in the memory service, which could not say why. */
function requireQuery(query: unknown): void {
  if (typeof query !== 'string') throw badRequest('memory.search takes a text as its query');
}

/** Checks what a node deletes or updates, which is often the memory that it found instead of its id. */
function requireId(method: string, memoryId: unknown): void {
  if (typeof memoryId !== 'string') throw badRequest(`memory.${method} takes the id of a memory, which is a text`);
}

/** Checks a value that a node gave: agents' code need not be type-checked. */
function oneOf<const T extends readonly string[]>(name: string, list: T, given: string): T[number] {
  if (isIn(list, given)) return given;
  throw badRequest(`${name} must be one of ${list.join(', ')}`);
}
