import { distanceMetrics, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import { Type, type Static } from 'typebox';
import { BodyId, Done, Id, JsonObject, limitOf, paged, paging, objectOf, Timestamp, words } from './common.ts';

const MemoryType = words(memoryTypes, { title: 'MemoryType' });

/** `config` of the store's routes: further keys are allowed. */
export const MemoryConfig = objectOf('MemoryConfig', { thread_id: Type.Optional(BodyId) });
export type MemoryConfig = Static<typeof MemoryConfig>;

const context = { config: Type.Optional(MemoryConfig), options: Type.Optional(JsonObject) };
const Content = Type.String({ minLength: 1 });
const Category = Type.String({ maxLength: 256 });

export const MemoryParams = Type.Object({ memory_id: Id });
export const MemoryInput = Type.Object(context);

export const StoreMemory = objectOf('StoreMemoryRequest', {
  content: Content,
  memory_type: MemoryType,
  category: Category,
  metadata: Type.Optional(JsonObject),
  ...context,
});

export const UpdateMemory = objectOf('UpdateMemoryRequest', {
  content: Content,
  metadata: Type.Optional(JsonObject),
  ...context,
});

export const SearchMemories = objectOf('SearchMemoryRequest', {
  query: Type.String({ minLength: 1 }),
  memory_type: Type.Optional(MemoryType),
  category: Type.Optional(Category),
  limit: limitOf(10),
  score_threshold: Type.Number({ minimum: 0, maximum: 1, default: 0 }),
  filters: Type.Optional(JsonObject),
  retrieval_strategy: words(retrievalStrategies, { default: 'similarity' }),
  distance_metric: words(distanceMetrics, { default: 'cosine' }),
  max_tokens: Type.Integer({ minimum: 1, default: 4000 }),
  ...context,
});

export const ListMemories = objectOf('ListMemoriesRequest', { ...context, ...paging });

export const ForgetMemories = objectOf('ForgetMemoriesRequest', {
  memory_type: Type.Optional(MemoryType),
  category: Type.Optional(Category),
  filters: Type.Optional(JsonObject),
  ...context,
});

const MemoryResult = objectOf('MemoryResult', {
  id: Type.String(),
  content: Type.String(),
  score: Type.Number({ minimum: 0, maximum: 1 }),
  memory_type: MemoryType,
  category: Type.String(),
  metadata: JsonObject,
  vector: Type.Array(Type.Number()),
  user_id: Type.String(),
  thread_id: Type.String(),
  timestamp: Timestamp,
});

export const StoredMemory = objectOf('StoredMemory', { memory_id: Type.String() });
export const OneMemory = objectOf('OneMemory', { memory: MemoryResult });
export const UpdatedMemory = objectOf('UpdatedMemory', { memory: MemoryResult, success: Done.properties.success });
export const FoundMemories = objectOf('FoundMemories', { results: Type.Array(MemoryResult) });
export const MemoryList = objectOf('MemoryList', {
  memories: Type.Array(MemoryResult),
  total: Type.Integer({ minimum: 0 }),
  ...paged,
});
export const Forgotten = objectOf('ForgottenMemories', {
  deleted_count: Type.Integer({ minimum: 0 }),
  memory_ids: Type.Array(Type.String()),
  success: Done.properties.success,
  has_more: Type.Boolean({ description: 'Whether more were forgotten than `memory_ids` names' }),
});
