import { defaultAgent } from '@agent-workflow/kit/agents';
import { eachOf, groupsOf } from '@agent-workflow/kit/each';
import { badRequest, notFound, ServiceError } from '@agent-workflow/kit/errors';
import { idFrom, newId } from '@agent-workflow/kit/ids';
import { mayUse, type Knowledge, type KnowledgeAction } from '@agent-workflow/protos/knowledge';
import { distanceMetrics, isIn, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { Memory, MemoryItem, Selection } from '@agent-workflow/protos/memory';
import { readTime } from '@agent-workflow/protos/message';
import { within } from '@agent-workflow/protos/call';
import { mostMemories } from '@agent-workflow/protos/run-trace';
import { isScope, mustBeScope, ownScope } from '@agent-workflow/protos/scopes';
import {
  memoryNames,
  type BoundMemory,
  type MemoryChange,
  type MemoryConditions,
  type MemoryFound,
  type MemoryOutcome,
  type NewMemory,
} from '@agent-workflow/graph/build/context';
import { refuseUnknown } from '@agent-workflow/graph/state/refuse-unknown';
import { tracedCode } from '@agent-workflow/graph/trace/current-span';
import { fromJson } from '../record/json.ts';
import { callForNode, isServiceAway, type NodeWait } from './node-calls.ts';

/** How long one call may take before the memory service counts as unavailable, in milliseconds. */
const memoryTimeoutMs = 30_000;
interface MemoryOfRun extends NodeWait {
  readonly owner: string;
  readonly threadId: string;
  /** Absent: the default. */
  readonly agent?: string | undefined;
  /** What the run may do in scopes; absent: nothing beside what is its owner's and its agent's. */
  readonly knowledge?: Knowledge | undefined;
  /** The same for a node or a call that begins again; absent: each call has its effect anew. */
  readonly key?: string | undefined;
}

/** How many memories of one call are stored at the same time. */
const storedAtOnce = 16;

/**
 * The memory service as nodes see it: only the memories that the run may use, and plain values instead of bytes. While the service is
 * unavailable, a call is repeated with the same id, so that it takes effect once; so is one of a node that begins again.
 */
export function bindMemory(memory: Memory, run: MemoryOfRun): BoundMemory {
  const { owner, threadId, signal } = run;
  const call = (): ReturnType<typeof within> => within(memoryTimeoutMs, signal);
  const repeated = <T>(work: () => Promise<T>): Promise<T> => callForNode(work, run);
  const idOf = createIds(run.key);
  const open = (action: KnowledgeAction, scope: unknown): { scope?: string } => openScope(run, action, scope);
  const noteFound = createNotes();
  const store = async (item: NewMemory): Promise<string> => {
    refuseUnfit(item);
    refuseNames('store', item);
    const { content, memoryType = 'semantic', category = 'general', metadata = {}, key, dedupe = false } = item;
    const scope = open('write', item.scope);
    const fields = {
      content: wellFormed(content),
      memoryType: oneOf('memoryType', memoryTypes, memoryType),
      category: wellFormed(category),
    };
    const naming = [...Object.values(scope), ...(key === undefined ? [] : [keyOf(key)])];
    const memoryId = idOf('store', ...Object.values(fields), ...naming);
    const given = { ...scope, ...(key !== undefined && { key }), ...(dedupe && { dedupe }) };
    // What is shared is deleted with no thread of anybody.
    const ofThread = scope.scope === undefined ? { threadId } : {};
    const request = { owner, memoryId, ...fields, metadataJson: toJson(metadata), ...ofThread, ...given };
    return (await repeated(async () => memory.store({ ...request, ...timesOf(item) }, call()))).memoryId;
  };

  return {
    store,

    storeAll: async (items) => {
      if (!Array.isArray(items)) throw badRequest('memory.storeAll takes a list of memories');
      const memories = items as readonly NewMemory[];
      const outcomes: MemoryOutcome[] = [];
      // Of two of one key the later one stays.
      await eachOf(groupsOf(memories, nameOfKeyed), storedAtOnce, async (indexes) => {
        for (const index of indexes)
          outcomes[index] = await store(memories[index] as NewMemory).then(
            (id) => ({ id }),
            (error: unknown) => outcomeOf(error, signal),
          );
      });
      return outcomes;
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
        ...(options.scopes && { scopes: listOf(options.scopes).map((scope) => open('read', scope).scope ?? ownScope) }),
      };
      const { results } = await repeated(async () => memory.search(request, call()));
      noteFound(results);
      return results.map(toFound);
    },

    update: async (id, change, options = {}) => {
      requireId('update', id);
      refuseUnfit(change, 'memory.update takes an id and an object whose content is a text: { content }');
      refuseNames('update', change);
      refuseNames('delete', options);
      const scope = open('write', options.scope);
      const { content, metadata } = change;
      const onceKey = idOf('update', id, JSON.stringify(change), ...Object.values(scope));
      const request = {
        ...{ owner, memoryId: id, content: wellFormed(content), onceKey, ...scope },
        ...(metadata && { metadataJson: toJson(metadata) }),
        ...timesOf(change),
      };
      return toFound(await repeated(async () => memory.update(request, call())));
    },

    list: async (options = {}) => {
      refuseNames('list', options);
      const { limit = 100, cursor } = options;
      const page = { limit, offset: 0, ...(cursor !== undefined && { cursor }) };
      const request = { owner, selection: selectionOf(options), ...page, ...open('read', options.scope) };
      const { memories, total, cursor: next } = await repeated(async () => memory.list(request, call()));
      return { memories: memories.map(toFound), total, ...(next !== undefined && { cursor: next }) };
    },

    delete: async (memoryId, options = {}) => {
      requireId('delete', memoryId);
      refuseNames('delete', options);
      const scope = open('write', options.scope);
      const request = { owner, memoryId, ...scope, onceKey: idOf('delete', memoryId, ...Object.values(scope)) };
      await repeated(async () => memory.delete(request, call()));
    },

    forget: async (conditions) => {
      if (typeof conditions !== 'object') throw badRequest('memory.forget takes an object of conditions');
      refuseNames('forget', conditions);
      const selection = selectionOf(conditions);
      const onceKey = idOf('forget', JSON.stringify(conditions));
      const request = { owner, selection, all: conditions.all === true, ...open('write', conditions.scope), onceKey };
      const { memoryIds, deletedCount = memoryIds.length } = await repeated(async () => memory.forget(request, call()));
      return deletedCount;
    },
  };
}

/**
 * The scope of a call, `{}` for the owner's own. What the run may not use is not there for it.
 * @throws NotFound, or PermissionDenied for a scope that it may read
 */
function openScope(
  { knowledge, agent = defaultAgent }: MemoryOfRun,
  action: KnowledgeAction,
  scope: unknown,
): { scope?: string } {
  const run = { knowledge, agent };
  if (scope === undefined || scope === ownScope) return {};
  if (typeof scope !== 'string' || !isScope(scope)) throw badRequest(`scope ${mustBeScope}`);
  if (mayUse(run, scope, action)) return { scope };
  if (mayUse(run, scope, 'read'))
    throw new ServiceError('PermissionDenied', `the run may read the scope "${scope}", and not write it`);
  throw notFound(`scope "${scope}" does not exist`);
}

function listOf(scopes: unknown): readonly unknown[] {
  if (Array.isArray(scopes) && scopes.length > 0) return scopes;
  throw badRequest('scopes of memory.search must be a list of scopes');
}

/** What the key of a memory names; `undefined` for one without. Agents' code need not be type-checked. */
const nameOfKeyed = (memory: Partial<NewMemory> | null | undefined): string | undefined =>
  memory?.key === undefined ? undefined : JSON.stringify([memory.scope, memory.key]);

/** What a memory was refused for. @throws the error when the call was given up, or the service is away: that is no matter of the memory. */
function outcomeOf(error: unknown, signal: AbortSignal): { readonly error: Error } {
  if (signal.aborted || isServiceAway(error) || !(error instanceof Error)) throw error;
  return { error };
}

/**
 * Notes in the trace which memories the code that runs has found, each once: who reads an answer sees what it may come from. One that is not the
 * owner's own has its scope before its id, and a slash between.
 */
function createNotes(): (results: readonly MemoryItem[]) => void {
  const found = new Map<unknown, Set<string>>();
  return (results) => {
    const span = tracedCode()?.span;
    if (!span || results.length === 0) return;
    const ids = found.get(span) ?? new Set();
    found.set(span, ids);
    for (const { memoryId, scope } of results)
      if (ids.size < mostMemories) ids.add(scope === undefined ? memoryId : `${scope}/${memoryId}`);
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

function keyOf(key: unknown): string {
  if (typeof key === 'string' && key !== '' && key.length <= longestKey) return key;
  throw badRequest(`key of memory.store must be a text of 1 to ${String(longestKey)} characters`);
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
  ...(item.scope !== undefined && { scope: item.scope }),
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
