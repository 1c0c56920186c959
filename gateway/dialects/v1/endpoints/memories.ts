import { eachOf, groupsOf } from '@agent-workflow/kit/each';
import { canBeRetried } from '@agent-workflow/kit/errors';
import { userIdOf } from '@agent-workflow/kit/ids';
import type { KnowledgeAction } from '@agent-workflow/protos/knowledge';
import type { MemoryType } from '@agent-workflow/protos/lists';
import type { MemoryItem, Selection } from '@agent-workflow/protos/memory';
import { idText, readTime } from '@agent-workflow/protos/message';
import { ownScope } from '@agent-workflow/protos/scopes';
import { openScope } from '../../../access/knowledge.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonText, timeText, jsonBytes, jsonObject } from '../../../http/json.ts';
import * as examples from '../examples/memories.ts';
import { maxLimit, Done } from '../schemas/common.ts';
import {
  type MemoryConfig,
  StoredMemory,
  StoredMemories,
  StoreMemories,
  StoreMemory,
  FoundMemories,
  SearchMemories,
  ListMemories,
  MemoryList,
  Forgotten,
  ForgetMemories,
  MemoryInput,
  MemoryParams,
  OneMemory,
  UpdatedMemory,
  UpdateMemory,
} from '../schemas/memories.ts';
import { endpoint } from './common/endpoint.ts';
import { nextPage, pageOf } from './common/page.ts';
import { partRefusal } from '../replies/envelope.ts';
import type { Services } from '../../common/services.ts';

/** Memories as a JSON array of MemoryResult. */
const memoriesText = (items: readonly MemoryItem[], owner: string): string =>
  `[${items.map((item) => memoryText(item, owner)).join(',')}]`;

/** Put together as text, because a list holds up to a thousand of them. */
const memoryText = (item: MemoryItem, owner: string): string =>
  `{"id":${JSON.stringify(item.memoryId)},"content":${JSON.stringify(item.content)},"score":${String(item.score)},` +
  `"memory_type":${JSON.stringify(item.memoryType)},"category":${JSON.stringify(item.category)},` +
  `"metadata":${jsonText(item.metadataJson)},"vector":${jsonText(item.vectorJson)},` +
  `"user_id":${JSON.stringify(item.scope === undefined ? (userIdOf(owner) ?? '') : '')},"thread_id":${JSON.stringify(item.threadId)},"timestamp":${timeText(item.timestamp)}` +
  (item.expiresAt === undefined ? '' : `,"expires_at":${timeText(item.expiresAt)}`) +
  `${item.scope === undefined ? '' : `,"scope":"${item.scope}"`}}`;

/** Who asks, and by which rules what is not theirs is decided. */
type Asking = Pick<EndpointRequest, 'owner' | 'roles'>;

/** The scope of a request, as the memory service takes it: see {@link openScope}. */
const scopeOf = (
  { owner, roles = [] }: Asking,
  { access }: Pick<Services, 'access'>,
  scope: string | undefined,
  action: KnowledgeAction,
): { readonly scope?: string } =>
  scope === undefined || scope === ownScope ? {} : openScope(access, { owner, roles }, { scope, action });

/** The thread that `config` names, as the memory service takes it. */
const threadOf = (config: MemoryConfig | undefined): { threadId?: string } =>
  config?.thread_id === undefined ? {} : { threadId: idText(config.thread_id) };

/** The conditions of a search or of a bulk deletion. */
function selectionOf(input: {
  readonly config?: MemoryConfig;
  readonly memory_type?: MemoryType;
  readonly category?: string;
  readonly filters?: Record<string, unknown>;
}): Selection {
  const { config, memory_type: memoryType, category, filters } = input;
  return {
    ...threadOf(config),
    ...(memoryType !== undefined && { memoryType }),
    ...(category !== undefined && { category: category.toWellFormed() }),
    ...(filters && Object.keys(filters).length > 0 && { filtersJson: jsonBytes(filters) }),
  };
}

interface Given {
  readonly timestamp?: string | number;
  readonly expires_at?: string | number;
}

interface Times {
  timestamp?: number;
  expiresAt?: number;
}

/** The times that a request gives a memory, as the memory service takes them. @throws Invalid for one that cannot be read. */
function timesOf(given: Given): Times {
  const timestamp = readTime(given.timestamp, ['timestamp']);
  const expiresAt = readTime(given.expires_at, ['expiresAt']);
  return { ...(timestamp !== undefined && { timestamp }), ...(expiresAt !== undefined && { expiresAt }) };
}

// The paths are below `/v1/store`: the resource is `store`, in authorization and in the rows.

export const storeMemory = endpoint({
  name: 'storeMemory',
  tag: 'memories',
  summary: 'Store a memory',
  description: 'Stores a text with its embedding, to be found by later searches and by nodes.',
  example: examples.storeMemory,
  method: 'POST',
  path: '/v1/store/memories',
  access: { resource: 'store', action: 'write' },
  input: StoreMemory,
  reply: StoredMemory,
  handle: async (request, services) => jsonObject(await storeOne(request, request.input, services)),
});

/** Stores one memory, and says its id. */
async function storeOne(
  request: Pick<EndpointRequest, 'owner' | 'roles' | 'newId' | 'call'>,
  input: StoreMemory,
  services: Pick<Services, 'memory' | 'access'>,
): Promise<Record<string, string>> {
  const { memory_type: memoryType, metadata = {}, key, config } = input;
  const scope = scopeOf(request, services, input.scope, 'write');
  if (scope.scope !== undefined && config?.thread_id !== undefined)
    throw invalidAt(['body', 'config', 'thread_id'], 'must be absent: what is shared belongs to no thread');
  const [content, category] = [input.content.toWellFormed(), input.category.toWellFormed()];
  const memoryId = request.newId('memory');
  const kept = { owner: request.owner, memoryId, content, category, memoryType, metadataJson: jsonBytes(metadata) };
  const dedupe = input.options?.dedupe === true;
  const naming = { ...(key !== undefined && { key: key.toWellFormed() }), ...(dedupe && { dedupe }) };
  const given = { ...threadOf(config), ...timesOf(input), ...naming, ...scope };
  const { memoryId: stored, isNew } = await services.memory.store({ ...kept, ...given }, request.call());
  return { memory_id: JSON.stringify(stored), ...(isNew !== undefined && { created: String(isNew) }) };
}

/** Memories that are stored at the same time: the embedder takes several texts in one request. */
const storedAtOnce = 16;

/** Stores several memories, each as {@link storeMemory} does. A refusal concerns its memory alone. */
export const storeMemories = endpoint({
  name: 'storeMemories',
  tag: 'memories',
  summary: 'Store several memories',
  description:
    'Stores up to 100 memories, each as `POST /v1/store/memories` would. One that is refused stands in the reply with its `error` and holds up no other; a body that does not fit the schema is refused as a whole. With an `Idempotency-Key` a memory that could not be stored for the moment makes the whole request 503, and the same request again stores those that are missing.',
  example: examples.storeMemories,
  method: 'POST',
  path: '/v1/store/memories/batch',
  access: { resource: 'store', action: 'write' },
  input: StoreMemories,
  reply: StoredMemories,
  handle: async (request, services) => {
    const { scope: ofAll } = request.input;
    const memories = request.input.memories.map((memory) => ({
      ...(ofAll !== undefined && { scope: ofAll }),
      ...memory,
    }));
    const replies: string[] = [];
    const store = async (index: number, input: StoreMemory): Promise<void> => {
      const newId = (what: string): string => request.newId(`${String(index)} ${what}`);
      try {
        replies[index] = jsonObject(await storeOne({ ...request, newId }, input, services));
      } catch (thrown) {
        if (request.idempotency.onceKey !== undefined && canBeRetried(thrown)) throw thrown;
        replies[index] = JSON.stringify({ error: partRefusal(thrown, ['memories', index]) });
      }
    };
    // Of two of one key the later one stays.
    const groups = groupsOf(memories, ({ key, scope }) =>
      key === undefined ? undefined : JSON.stringify([scope, key]),
    );
    await eachOf(groups, storedAtOnce, async (indexes) => {
      for (const index of indexes) await store(index, memories[index] as StoreMemory);
    });
    return jsonObject({ memories: `[${replies.join(',')}]` });
  },
});

/** The best matches for a query, by the strategy and the metric of the request. */
export const searchMemories = endpoint({
  name: 'searchMemories',
  tag: 'memories',
  summary: 'Search memories',
  description: 'The memories of the owner that fit a query best, by the strategy and the metric of the request.',
  example: examples.searchMemories,
  method: 'POST',
  path: '/v1/store/search',
  access: { resource: 'store', action: 'read' },
  input: SearchMemories,
  reply: FoundMemories,
  handle: async ({ input, owner, roles, call, addReplyMetadata }, services) => {
    // Taken for nothing it would let a search of the caller's own memories pass for one of a scope.
    if ('scope' in input) throw invalidAt(['body', 'scope'], 'must be absent: a search takes scopes, a list');
    const scopes = input.scopes?.map((scope) => scopeOf({ owner, roles }, services, scope, 'read').scope ?? ownScope);
    const request = {
      owner,
      ...(scopes && { scopes }),
      query: input.query.toWellFormed(),
      selection: selectionOf(input),
      limit: Math.min(input.limit, maxLimit),
      scoreThreshold: input.score_threshold,
      retrievalStrategy: input.retrieval_strategy,
      distanceMetric: input.distance_metric,
      maxTokens: input.max_tokens,
      ...(input.options && { optionsJson: jsonBytes(input.options) }),
    };
    const { results, incompleteSince } = await services.memory.search(request, call());
    if (incompleteSince !== undefined) {
      addReplyMetadata({ incomplete_since: new Date(incompleteSince).toISOString() });
    }
    return jsonObject({ results: memoriesText(results, owner) });
  },
});

/** The owner's memories that meet the conditions given, newest first. */
export const listMemories = endpoint({
  name: 'listMemories',
  tag: 'memories',
  summary: 'List memories, newest first',
  description:
    'The memories of the owner that meet every condition, those stored or updated last first, in pages. `total` is how many the same conditions would forget.',
  example: examples.listMemories,
  method: 'GET',
  path: '/v1/store/memories',
  aliases: [{ method: 'POST', path: '/v1/store/memories/list' }],
  access: { resource: 'store', action: 'read' },
  input: ListMemories,
  reply: MemoryList,
  handle: async (request, services) => {
    const { input, owner, call } = request;
    const scope = scopeOf(request, services, input.scope, 'read');
    const asked = { owner, selection: selectionOf(input), ...pageOf(input), ...scope };
    const list = await services.memory.list(asked, call());
    return jsonObject({
      memories: memoriesText(
        list.memories.map((item) => ({ ...item, ...scope })),
        owner,
      ),
      total: String(list.total),
      ...nextPage(list.cursor),
    });
  },
});

const nothingSelected =
  'nothing is selected, so nothing was deleted: give memory_type, category, filters or config.thread_id; options {"all": true} forgets everything';

/** Deletes all memories that match. Without any condition none do: an empty body must not delete all memories of an owner. */
export const forgetMemories = endpoint({
  name: 'forgetMemories',
  tag: 'memories',
  summary: 'Forget the memories that match',
  description:
    'Deletes all memories that meet every condition of the body, for good. Without a condition nothing is selected and nothing deleted, which `message` says, unless `options` is `{"all": true}`.',
  example: examples.forgetMemories,
  method: 'POST',
  path: '/v1/store/memories/forget',
  access: { resource: 'store', action: 'delete' },
  input: ForgetMemories,
  reply: Forgotten,
  handle: async (request, services) => {
    const { input, owner, idempotency, call, addReplyMetadata } = request;
    const scope = scopeOf(request, services, input.scope, 'write');
    const selection = selectionOf(input);
    const all = input.options?.all === true;
    if (!all && Object.keys(selection).length === 0) {
      addReplyMetadata({ message: nothingSelected });
      return JSON.stringify({ ...reply([], 0), message: nothingSelected });
    }
    const forgetting = { owner, selection, all, ...scope, ...idempotency };
    const { memoryIds, deletedCount } = await services.memory.forget(forgetting, call());
    return JSON.stringify(reply(memoryIds, deletedCount ?? memoryIds.length));
  },
});

const reply = (memoryIds: readonly string[], count: number): object => ({
  success: true,
  deleted_count: count,
  memory_ids: memoryIds,
  has_more: count > memoryIds.length,
});

export const getMemory = endpoint({
  name: 'getMemory',
  tag: 'memories',
  summary: 'Get a memory',
  description: 'One memory, with its vector.',
  example: examples.getMemory,
  method: 'GET',
  path: '/v1/store/memories/{memory_id}',
  aliases: [{ method: 'POST', path: '/v1/store/memories/{memory_id}' }],
  access: { resource: 'store', action: 'read' },
  params: MemoryParams,
  input: MemoryInput,
  reply: OneMemory,
  handle: async (request, services) => {
    const { owner, params, input, call } = request;
    const scope = scopeOf(request, services, input.scope, 'read');
    const item = await services.memory.get({ owner, memoryId: params.memory_id, ...scope }, call());
    return jsonObject({ memory: memoryText({ ...item, ...scope }, owner) });
  },
});

/** Replaces the content and merges the metadata given. */
export const updateMemory = endpoint({
  name: 'updateMemory',
  tag: 'memories',
  summary: 'Replace the content of a memory',
  description: 'Replaces the content, embeds it again, and merges the metadata.',
  example: examples.updateMemory,
  method: 'PUT',
  path: '/v1/store/memories/{memory_id}',
  access: { resource: 'store', action: 'write' },
  params: MemoryParams,
  input: UpdateMemory,
  reply: UpdatedMemory,
  handle: async (request, services) => {
    const { params, input, owner, idempotency, call } = request;
    const scope = scopeOf(request, services, input.scope, 'write');
    const metadata = input.metadata && { metadataJson: jsonBytes(input.metadata) };
    const change = {
      owner,
      ...scope,
      memoryId: params.memory_id,
      content: input.content.toWellFormed(),
      ...metadata,
      ...timesOf(input),
      ...idempotency,
    };
    const item = await services.memory.update(change, call());
    return jsonObject({ memory: memoryText({ ...item, ...scope }, owner), success: 'true' });
  },
});

export const deleteMemory = endpoint({
  name: 'deleteMemory',
  tag: 'memories',
  summary: 'Delete a memory',
  description: 'Deletes a memory for good.',
  example: examples.deleteMemory,
  method: 'DELETE',
  path: '/v1/store/memories/{memory_id}',
  access: { resource: 'store', action: 'delete' },
  params: MemoryParams,
  input: MemoryInput,
  reply: Done,
  handle: async (request, services) => {
    const { owner, params, input, idempotency, call } = request;
    const scope = scopeOf(request, services, input.scope, 'write');
    await services.memory.delete({ owner, memoryId: params.memory_id, ...scope, ...idempotency }, call());
    return '{"success":true}';
  },
});
