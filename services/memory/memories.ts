import type {
  Memory,
  ListRequest,
  SearchRequest,
  StoreReply,
  StoreRequest,
  MemoryItem,
} from '@agent-workflow/protos/memory';
import {
  refuseLate,
  checkedSelection,
  readCount,
  readOffset,
  readMetadata,
  refuseLargeMetadata,
  refuseTimes,
  refuseUnfit,
  oneOf,
  refuseLarge,
  refuseLong,
} from './record/checks.ts';
import { byRecency, isAlive, timeOf } from './record/order.ts';
import { ownerOfScope, spacesOf, type Space } from './record/spaces.ts';
import { createQuota, pageBytes, toPage } from '@agent-workflow/kit/pages';
import type { StoredMemory, MemoryRecord } from './ports/memory.ts';
import { readSelection, narrows, type Selected } from './record/filters.ts';
import { cursorsByTime, type Cursors } from '@agent-workflow/kit/cursors';
import type { ListPosition, IdempotentRequest, MemoryRecords } from './ports/records.ts';
import { conflict, invalid, notFound, type ServiceError } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import { toJson, textBytes } from './record/json.ts';
import { vectorToJson } from './vectors/unit.ts';
import type { Call } from '@agent-workflow/protos/call';
import { distanceMetrics, retrievalStrategies, memoryTypes } from '@agent-workflow/protos/lists';
import { readSearchOptions } from './record/options.ts';
import { mergeSpaces, strategies, type Found } from './search/strategies.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { requestOf, type Repeatable } from '@agent-workflow/protos/repeats';
import { ownScope } from '@agent-workflow/protos/scopes';
import { embedTexts } from './embedders/embedding.ts';
import type { Embedder } from './ports/embedder.ts';
import type { MemorySearch } from './ports/search.ts';

/** What the operations of the memory service work with. */
interface Parts {
  readonly store: MemoryRecords & MemorySearch;
  readonly embedder: Embedder;
  /** `relevance`: days after which a memory counts half as recent, unless a search sets it. */
  readonly halfLifeDays: number;
  readonly now: () => number;
}

interface FieldText {
  /** The field of the request that holds the text. */
  readonly field: 'content' | 'query';
  readonly text: string;
}

/** The vector of a text, of unit length. @throws Invalid at `field` when the embedder gives no usable vector. */
async function embed({ embedder }: Parts, { field, text }: FieldText, call: Call): Promise<Float32Array> {
  const [vector] = await embedTexts(embedder, { texts: [text], field: [field] }, call);
  refuseLate(call);
  return vector as Float32Array;
}

/** A memory of now, with its vector also as JSON. */
const toRecord = ({ now }: Parts, fields: Omit<MemoryRecord, 'vectorJson' | 'timestamp'>): MemoryRecord => ({
  ...fields,
  vectorJson: vectorToJson(fields.vector),
  timestamp: now(),
});

/** How the store knows a request that its caller may send again; `undefined` for a request that is sent once. */
function toIdempotent({ now }: Parts, method: string, request: Repeatable): IdempotentRequest | undefined {
  const known = requestOf(method, request);
  return known && { ...known, at: now() };
}

type MemoriesOptions = Omit<Parts, 'now'> & Partial<Pick<Parts, 'now'>>;

/** The memory service on a store and an embedder. */
export function createMemories({ now = Date.now, ...options }: MemoriesOptions): Memory {
  const parts: Parts = { ...options, now };
  return {
    store: inScope(createStore(parts)),
    search: createSearch(parts),
    get: inScope(createGet(parts)),
    update: inScope(createUpdate(parts)),
    delete: inScope(createDelete(parts)),
    list: inScope(createList(parts)),
    forget: inScope(createForget(parts)),
  };
}

/** Does the work of a call in the scope of its request: the owner is then that of the scope. */
const inScope =
  <R extends { readonly owner: string; readonly scope?: string }, T>(work: (request: R, call: Call) => Promise<T>) =>
  async (request: R, call: Call): Promise<T> =>
    work({ ...request, owner: ownerOfScope(request) }, call);

const createGet =
  (parts: Parts): Memory['get'] =>
  async ({ owner, memoryId }, call) => {
    refuseLate(call);
    const [memory] = await parts.store.get(owner, [memoryId]);
    if (!memory || !isAlive(memory, parts.now())) throw absent(memoryId);
    return toItem(memory);
  };

const createList =
  (parts: Parts): Memory['list'] =>
  async ({ owner, selection, limit: maxItems, offset: skipped, cursor }, call) => {
    refuseLate(call);
    const limit = readCount(maxItems, ['limit']);
    const offset = cursor === undefined ? readOffset(skipped) : 0;
    const { fromCursor, toCursor } = cursorsOf({ owner, selection });
    const after = cursor === undefined ? undefined : fromCursor(cursor);
    const selected = readSelection(checkedSelection(selection), parts.now());
    const page = { limit: limit + 1, offset, after, without: 'metadata' } as const;
    const { heads, total } = await parts.store.list({ owner, ...selected, ...page });
    const found: StoredMemory[] = [];
    const isEnough = createQuota(pageBytes);
    const listed = heads.slice(0, limit);
    const ids = listed.map(({ memoryId }) => memoryId);
    for await (const [, memory] of readMemories(
      parts,
      ids.map((memoryId) => ({ owner, memoryId })),
      call,
    )) {
      found.push(memory);
      if (isEnough(itemBytes(memory))) break;
    }
    const { items, hasMore } = toPage(found, { limit, sizeOf: itemBytes });
    // Of a page that is not full by its size all were read: those that expired or were removed meanwhile are behind the reader too.
    const last = hasMore ? items.at(-1) : listed.at(-1);
    return {
      memories: items.map((memory) => toItem(memory)),
      total,
      ...((hasMore || heads.length > limit) && last && { cursor: toCursor(last) }),
    };
  };

/** The cursors of the list of an owner's memories that a selection gives. */
function cursorsOf({ owner, selection }: Pick<ListRequest, 'owner' | 'selection'>): Cursors<ListPosition> {
  const { memoryType, category, threadId, filtersJson } = selection;
  const filters = filtersJson && Buffer.from(filtersJson).toString();
  return cursorsByTime(['memories', owner, memoryType, category, threadId, filters], {
    toParts: ({ timestamp, memoryId }) => [timestamp, memoryId],
    fromParts: (timestamp, memoryId) => ({ timestamp, memoryId }),
  });
}

const createDelete =
  (parts: Parts): Memory['delete'] =>
  async (request, call) => {
    const { owner, memoryId } = request;
    refuseLate(call);
    const { count } = await parts.store.remove(owner, [memoryId], toIdempotent(parts, 'delete', request));
    if (count === 0) throw absent(memoryId);
    return {};
  };

const createForget =
  (parts: Parts): Memory['forget'] =>
  async (request, call) => {
    const { owner, selection, all } = request;
    refuseLate(call);
    const selected = readSelection(checkedSelection(selection), parts.now());
    if (!all && !narrows(selected)) throw nothingNarrows();
    const { heads } = await parts.store.list({ owner, ...selected, limit: Infinity, without: 'metadata' });
    const ids = heads.map(({ memoryId }) => memoryId);
    const { memoryIds, count } = await parts.store.remove(owner, ids, toIdempotent(parts, 'forget', request));
    return { memoryIds, deletedCount: count };
  };

const nothingNarrows = (): ServiceError =>
  invalid(
    [],
    'must have memory_type, category, filters or config.thread_id; options.all forgets everything',
    'missing',
  );

const createUpdate =
  (parts: Parts): Memory['update'] =>
  async (request, call) => {
    const { owner, memoryId, content, metadataJson } = request;
    const { store } = parts;
    refuseLate(call);
    refuseUnfit(content);
    refuseTimes(request);
    const given = metadataJson && readMetadata(metadataJson);
    const idempotent = toIdempotent(parts, 'update', request);
    const [known] = await store.get(owner, [memoryId]);
    if (!(known && isAlive(known, parts.now())) && !(idempotent && (await store.findUpdated(owner, idempotent))))
      throw absent(memoryId);
    const vector = await embed(parts, { field: 'content', text: content }, call);
    const change = (stored: StoredMemory): MemoryRecord => {
      const { memoryType, category, threadId } = stored;
      const { timestamp: happenedAt = stored.happenedAt, expiresAt = stored.expiresAt } = request;
      const merged = given ? toJson({ ...readMetadata(stored.metadataJson), ...given }) : stored.metadataJson;
      refuseLargeMetadata(merged);
      const fields = { memoryId, content, memoryType, category, threadId, happenedAt, expiresAt, vector };
      return toRecord(parts, { ...fields, metadataJson: merged });
    };
    const updated = await store.update(owner, memoryId, change, idempotent);
    if (!updated) throw absent(memoryId);
    return toItem({ ...updated, content, vectorJson: vectorToJson(vector) });
  };

const createSearch =
  (parts: Parts): Memory['search'] =>
  async (request, call) => {
    refuseLate(call);
    const maxTokens = readCount(request.maxTokens, ['maxTokens'], { min: 0, max: Infinity });
    const incompleteBefore = parts.store.incompleteSince();
    const ranked = await rank(parts, request, call);
    const incompleteSince = incompleteBefore ?? parts.store.incompleteSince();
    const isAffordable = createBudget<StoredMemory>(maxTokens, ({ content }) => countTokens(content));
    const fits = createBudget<StoredMemory>(pageBytes, itemBytes);
    const results: MemoryItem[] = [];
    let isCut = false;
    const found = ranked.map(({ space, head: { memoryId }, score }) => ({ ...space, memoryId, score }));
    for await (const [{ score, scope }, memory] of readMemories(parts, found, call)) {
      if (!isAffordable(memory)) continue;
      if (fits(memory)) results.push({ ...toItem(memory, score), ...(scope !== ownScope && { scope }) });
      else isCut = true;
    }
    return {
      results,
      ...(incompleteSince !== undefined && { incompleteSince }),
      ...(isCut && { isCut }),
    };
  };

async function rank(parts: Parts, request: SearchRequest, call: Call): Promise<Found[]> {
  const { query: text, scoreThreshold: threshold } = request;
  const spaces = spacesOf(request);
  const strategy = oneOf(retrievalStrategies, request.retrievalStrategy, ['retrievalStrategy']);
  const metric = oneOf(distanceMetrics, request.distanceMetric, ['distanceMetric']);
  const limit = readCount(request.limit, ['limit']);
  const options = readSearchOptions(request.optionsJson, parts.halfLifeDays);
  const selected = readSelection(checkedSelection(request.selection), parts.now());
  if (!Number.isFinite(threshold)) throw invalid(['scoreThreshold'], 'must be a number');
  refuseLarge(text, ['query']);
  if (text.trim() === '') return newest(parts, { spaces, selected, limit });
  const vector = await embed(parts, { field: 'query', text }, call);
  const { store, now } = parts;
  return strategies[strategy]({
    ...{ store, spaces, text, vector, metric, selected, limit, threshold, options },
    now: now(),
  });
}

interface Newest {
  readonly spaces: readonly Space[];
  readonly selected: Selected;
  readonly limit: number;
}

/** The newest memories, each with score 1: the result of a query without text. */
const newest = async ({ store }: Parts, asked: Newest): Promise<Found[]> =>
  mergeSpaces(asked, { order: (a, b) => byRecency(a.head, b.head) }, async ({ owner, selected, limit }) => {
    const { heads } = await store.list({ owner, ...selected, limit, without: 'metadata' });
    return heads.map((head) => ({ head, score: 1 }));
  });

const bytesPerToken = 4;

/** How many tokens a text counts as: one for every four bytes of UTF-8, rounded up. */
const countTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** Checks which of a row of items fit into a budget. The first always fits; a later one that is too large is skipped. */
function createBudget<T>(budget: number, sizeOf: (item: T) => number): (item: T) => boolean {
  let left = budget;
  let isFirst = true;
  return (item) => {
    const size = sizeOf(item);
    if (!isFirst && size > left) return false;
    isFirst = false;
    left -= size;
    return true;
  };
}

const createStore =
  (parts: Parts): Memory['store'] =>
  async (request, call) => {
    const { content, memoryType, category, metadataJson } = request;
    refuseLate(call);
    refuseUnfit(content);
    oneOf(memoryTypes, memoryType, ['memoryType']);
    refuseLong(category, ['category']);
    readMetadata(metadataJson);
    refuseTimes(request);
    if (request.key !== undefined) return storeByKey(parts, { ...request, key: request.key }, call);
    if (request.dedupe) return storeUnlessThere(parts, request, call);
    await put(parts, { ...request, vector: await embedContent(parts, request, call) }, call);
    return { memoryId: request.memoryId };
  };

/** Stores the content unless one of its ids has it already, and says the id of the one memory. */
async function storeUnlessThere(parts: Parts, request: StoreRequest, call: Call): Promise<StoreReply> {
  const { owner, content } = request;
  const ids = idsByContent(request);
  const known = await parts.store.get(owner, ids);
  const same = known.find((memory) => memory.content === content && isAlive(memory, parts.now()));
  if (same) return { memoryId: same.memoryId, isNew: false };
  const vector = await embedContent(parts, request, call);
  const taken = new Set(known.map(({ memoryId }) => memoryId));
  for (const memoryId of ids.filter((each) => !taken.has(each))) {
    if (await put(parts, { ...request, memoryId, vector }, call)) return { memoryId, isNew: true };
    // A concurrent request stored the same content, unless the memory was changed at once.
    if ((await parts.store.get(owner, [memoryId]))[0]?.content === content) return { memoryId, isNew: false };
  }
  await put(parts, { ...request, vector }, call);
  return { memoryId: request.memoryId, isNew: true };
}

type KeyedRequest = StoreRequest & { readonly key: string };

/** How often a memory that is removed at the same moment is put again. */
const keyedAttempts = 3;

/** Stores the one memory of a key, or puts this one in its place. The id follows from the key, so that concurrent requests mean one memory. */
async function storeByKey(parts: Parts, request: KeyedRequest, call: Call): Promise<StoreReply> {
  const { owner } = request;
  const memoryId = idByKey(request);
  const [known] = await parts.store.get(owner, [memoryId]);
  if (known && isAlive(known, parts.now()) && holds(known, request)) return { memoryId, isNew: false };
  const embedded = { ...request, memoryId, vector: await embedContent(parts, request, call) };
  const sent = toIdempotent(parts, 'store', { onceKey: request.memoryId });
  for (let attempt = 0; attempt < keyedAttempts; attempt += 1) {
    if (await put(parts, embedded, call)) return { memoryId, isNew: true };
    if (await parts.store.update(owner, memoryId, () => toMemory(parts, embedded), sent))
      return { memoryId, isNew: false };
  }
  throw conflict(`the memory of the key "${request.key}" is being removed`);
}

const longestKey = 256;

/** The id of the memory of a key. @throws Invalid at `key` for one that is empty or too long. */
function idByKey({ key, scope = ownScope }: KeyedRequest): string {
  if (key === '' || key.length > longestKey)
    throw invalid(['key'], `must have 1 to ${String(longestKey)} characters`, 'value_error');
  return idFrom(JSON.stringify(['key', key, ...(scope === ownScope ? [] : [scope])]), 'memory');
}

/** Whether a memory is what a request stores. */
const holds = (memory: StoredMemory, { threadId = '', ...request }: StoreRequest): boolean =>
  memory.content === request.content &&
  memory.memoryType === request.memoryType &&
  memory.category === request.category &&
  memory.threadId === threadId &&
  memory.happenedAt === request.timestamp &&
  memory.expiresAt === request.expiresAt &&
  Buffer.compare(memory.metadataJson, request.metadataJson) === 0;

const embedContent = async (parts: Parts, { content }: StoreRequest, call: Call): Promise<Float32Array> =>
  embed(parts, { field: 'content', text: content }, call);

type Embedded = StoreRequest & { readonly vector: Float32Array };

async function put(parts: Parts, request: Embedded, call: Call): Promise<boolean> {
  await readCancellation(call);
  return parts.store.put(request.owner, toMemory(parts, request));
}

function toMemory(parts: Parts, request: Embedded): MemoryRecord {
  const { memoryId, content, memoryType, category, metadataJson, threadId = '', vector } = request;
  const { timestamp: happenedAt, expiresAt } = request;
  const fields = { memoryId, content, memoryType, category, metadataJson, threadId, happenedAt, expiresAt };
  return toRecord(parts, { ...fields, vector });
}

/**
 * Reads what has arrived on the connection. While this process was frozen, its caller may have given up, stored the memory at another
 * replica, and removed it again; a memory that is stored here now would come back.
 * @throws Cancelled or Timeout when the caller has given up.
 */
async function readCancellation(call: Call): Promise<void> {
  for (let turns = 0; turns < turnsToRead; turns += 1) await nextTurn();
  refuseLate(call);
}

/** Turns of the event loop: a request and its cancellation are read in one turn or in two, and take effect in the next. */
const turnsToRead = 3;

type Identity = Pick<StoreRequest, 'owner' | 'content' | 'memoryType' | 'category' | 'threadId'>;

/** How many memories that were stored with `dedupe` and have another content by now may keep an id of the content. */
const idsOfContent = 8;

/**
 * The ids of a memory that is stored with `dedupe`, UUIDv8s of the fields by which two memories are the same. The first is its id; each
 * further one stands in where the memories with those before were changed since.
 */
const idsByContent = (identity: Identity): string[] =>
  Array.from({ length: idsOfContent }, (_, place) => idByContent(identity, place));

function idByContent({ owner, content, memoryType, category, threadId = '' }: Identity, place: number): string {
  const fields = ['dedupe', owner, content, memoryType, category, threadId];
  const text = JSON.stringify(place === 0 ? fields : [...fields, place]);
  const hash = createHash('sha256').update(text).digest('hex');
  const variant = ((parseInt(hash.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

/** A memory as replies carry it. */
function toItem(memory: StoredMemory, score = 1): MemoryItem {
  const { memoryId, content, memoryType, category, metadataJson, vectorJson, threadId, expiresAt } = memory;
  const item = { memoryId, content, memoryType, category, metadataJson, score, vectorJson, threadId };
  return { ...item, timestamp: timeOf(memory), ...(expiresAt !== undefined && { expiresAt }) };
}

/** The bytes of keys, timestamps and punctuation of one memory in a reply. */
const frameBytes = 512;

/** How many bytes a memory takes in a reply. */
const itemBytes = ({ memoryId, content, category, threadId, metadataJson, vectorJson }: StoredMemory): number =>
  [memoryId, content, category, threadId].reduce((sum, text) => sum + textBytes(text), frameBytes) +
  metadataJson.byteLength +
  vectorJson.byteLength;

/** Memories that are read at once, each with its content and its vector. */
const memoriesAtOnce = 50;

interface Named {
  readonly owner: string;
  readonly memoryId: string;
}

/** The memories that are named, in their order, read some at a time; absent ones are left out. */
async function* readMemories<N extends Named>(
  { store, now }: Pick<Parts, 'store' | 'now'>,
  named: readonly N[],
  call: Call,
): AsyncGenerator<readonly [N, StoredMemory]> {
  for (let from = 0; from < named.length; from += memoriesAtOnce) {
    refuseLate(call);
    const some = named.slice(from, from + memoriesAtOnce);
    const found = new Map<string, Map<string, StoredMemory>>();
    await Promise.all(
      [...new Set(some.map(({ owner }) => owner))].map(async (owner) => {
        const ids = some.filter((each) => each.owner === owner).map(({ memoryId }) => memoryId);
        const memories = await store.get(owner, ids);
        found.set(owner, new Map(memories.map((memory) => [memory.memoryId, memory])));
      }),
    );
    for (const each of some) {
      const memory = found.get(each.owner)?.get(each.memoryId);
      if (memory && isAlive(memory, now())) yield [each, memory];
    }
  }
}

const absent = (memoryId: string): ServiceError => notFound(`memory "${memoryId}" does not exist`);
