import { userIdOf } from '@agent-workflow/kit/ids';
import type { MemoryType } from '@agent-workflow/protos/lists';
import type { MemoryItem, Selection } from '@agent-workflow/protos/memory';
import { idText, readTime } from '@agent-workflow/protos/message';
import { jsonText, timeText, jsonBytes, jsonObject } from '../../../http/json.ts';
import * as examples from '../examples/memories.ts';
import { maxLimit, Done } from '../schemas/common.ts';
import {
  type MemoryConfig,
  StoredMemory,
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

/** Memories as a JSON array of MemoryResult. */
const memoriesText = (items: readonly MemoryItem[], owner: string): string =>
  `[${items.map((item) => memoryText(item, owner)).join(',')}]`;

/** Put together as text, because a list holds up to a thousand of them. */
const memoryText = (item: MemoryItem, owner: string): string =>
  `{"id":${JSON.stringify(item.memoryId)},"content":${JSON.stringify(item.content)},"score":${String(item.score)},` +
  `"memory_type":${JSON.stringify(item.memoryType)},"category":${JSON.stringify(item.category)},` +
  `"metadata":${jsonText(item.metadataJson)},"vector":${jsonText(item.vectorJson)},` +
  `"user_id":${JSON.stringify(userIdOf(owner) ?? '')},"thread_id":${JSON.stringify(item.threadId)},"timestamp":${timeText(item.timestamp)}` +
  `${item.expiresAt === undefined ? '' : `,"expires_at":${timeText(item.expiresAt)}`}}`;

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
  handle: async ({ input, owner, newId, call }, { memory }) => {
    const { memory_type: memoryType, metadata = {} } = input;
    const [content, category] = [input.content.toWellFormed(), input.category.toWellFormed()];
    const memoryId = newId('memory');
    const request = { owner, memoryId, content, category, memoryType, metadataJson: jsonBytes(metadata) };
    const dedupe = input.options?.dedupe === true;
    const given = { ...threadOf(input.config), ...timesOf(input), ...(dedupe && { dedupe }) };
    const stored = await memory.store({ ...request, ...given }, call());
    return jsonObject({ memory_id: JSON.stringify(stored.memoryId) });
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
  handle: async ({ input, owner, call, addReplyMetadata }, { memory }) => {
    const request = {
      owner,
      query: input.query.toWellFormed(),
      selection: selectionOf(input),
      limit: Math.min(input.limit, maxLimit),
      scoreThreshold: input.score_threshold,
      retrievalStrategy: input.retrieval_strategy,
      distanceMetric: input.distance_metric,
      maxTokens: input.max_tokens,
      ...(input.options && { optionsJson: jsonBytes(input.options) }),
    };
    const { results, incompleteSince } = await memory.search(request, call());
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
  handle: async ({ input, owner, call }, { memory }) => {
    const list = await memory.list({ owner, selection: selectionOf(input), ...pageOf(input) }, call());
    return jsonObject({
      memories: memoriesText(list.memories, owner),
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
  handle: async ({ input, owner, idempotency, call, addReplyMetadata }, { memory }) => {
    const selection = selectionOf(input);
    const all = input.options?.all === true;
    if (!all && Object.keys(selection).length === 0) {
      addReplyMetadata({ message: nothingSelected });
      return JSON.stringify({ ...reply([], 0), message: nothingSelected });
    }
    const { memoryIds, deletedCount } = await memory.forget({ owner, selection, all, ...idempotency }, call());
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
  handle: async ({ owner, params, call }, { memory }) => {
    const item = await memory.get({ owner, memoryId: params.memory_id }, call());
    return jsonObject({ memory: memoryText(item, owner) });
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
  handle: async ({ params, input, owner, idempotency, call }, { memory }) => {
    const metadata = input.metadata && { metadataJson: jsonBytes(input.metadata) };
    const request = {
      owner,
      memoryId: params.memory_id,
      content: input.content.toWellFormed(),
      ...metadata,
      ...timesOf(input),
      ...idempotency,
    };
    const item = await memory.update(request, call());
    return jsonObject({ memory: memoryText(item, owner), success: 'true' });
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
  handle: async ({ owner, params, idempotency, call }, { memory }) => {
    await memory.delete({ owner, memoryId: params.memory_id, ...idempotency }, call());
    return '{"success":true}';
  },
});
