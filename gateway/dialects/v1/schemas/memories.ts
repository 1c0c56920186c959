import { distanceMetrics, memoryTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import { mostScopes, scopePattern } from '@agent-workflow/protos/scopes';
import type { Static, TProperties } from 'typebox';
import {
  BodyId,
  count,
  described,
  Done,
  flag,
  givenTime,
  Id,
  JsonObject,
  limitOf,
  memoryId,
  paged,
  pagingByChange,
  objectOf,
  text,
  time,
  words,
} from './common.ts';
import { Type } from '../../common/builders.ts';
import { PartRefusal } from './errors.ts';

const MemoryType = words(memoryTypes, {
  title: 'MemoryType',
  description: 'What kind of memory it is',
  meanings: {
    episodic: 'what happened in conversations',
    semantic: 'facts, knowledge, preferences',
    procedural: 'how something is done',
    entity: 'a person, a place or a thing',
    relationship: 'how two others are related: `metadata.source` and `metadata.target` name memory ids or entity names',
    custom: 'anything else',
    declarative: 'explicit facts and events',
  },
});

/** `config` of the store's routes: further keys are allowed. */
export const MemoryConfig = objectOf('MemoryConfig', 'Which thread is meant. Further fields are ignored.', {
  thread_id: Type.Optional(
    described(
      BodyId,
      'The thread: of a new memory the one with which it is deleted, else only memories of this thread count',
    ),
  ),
});
export type MemoryConfig = Static<typeof MemoryConfig>;

const config = Type.Optional(described(MemoryConfig, 'Names a thread'));

/** A scope of memories. */
const Scope = Type.String({
  title: 'MemoryScope',
  description:
    "Whose memories are meant: `own`, the caller's; `agent:NAME`, what the runs of an agent share; `shared:NAME`, what the operator has declared in `access.knowledge`",
  pattern: scopePattern,
});
const scope = Type.Optional(described(Scope, 'The scope that is meant. Default: `own`'));
const options = (description: string) => Type.Optional(described(JsonObject, description));
/** Options of which one is read: its type is checked, and others are ignored. */
const optionsWith = <P extends TProperties>(properties: P, description: string) =>
  Type.Optional(Type.Object(properties, { description, additionalProperties: true }));
const unread = options('Accepted for clients that send it; it changes nothing');

const Content = Type.String({ minLength: 1, description: 'What is remembered, as text; not blank, at most 64 KiB' });
const Category = Type.String({
  maxLength: 256,
  description: 'A word of your own by which memories are grouped; at most 256 characters',
});
const filters = Type.Optional(
  described(
    JsonObject,
    'Only memories whose `metadata` has these values. A value is compared as it is, or by `{"$gt" | "$gte" | "$lt" | "$lte" | "$ne" | "$in": …}`. `thread_id`, `memory_type`, `category` and `timestamp` may be named too. At most 1,000 values in all, those of every `$in` counted. Default: all',
  ),
);
const ofType = Type.Optional(described(MemoryType, 'Only memories of this kind. Default: all'));
const ofCategory = Type.Optional(described(Category, 'Only memories of this category. Default: all'));

export const MemoryParams = Type.Object({ memory_id: described(Id, 'The memory') });
export const MemoryInput = Type.Object({ scope, config, options: unread });

const timesOf = (fallback: string) => ({
  timestamp: Type.Optional(givenTime('The time of what it describes', fallback)),
  expires_at: Type.Optional(
    givenTime('From when on it is found by nothing, and removed', fallback === 'none' ? 'never' : fallback),
  ),
});

export const StoreMemory = objectOf('StoreMemoryRequest', 'A new memory.', {
  ...timesOf('none'),
  content: Content,
  memory_type: described(MemoryType, 'The kind of the memory'),
  category: Category,
  metadata: Type.Optional(
    described(
      JsonObject,
      'What searches can filter by, at most 64 KiB; `importance`, from 0 to 1, counts in the strategy `relevance`',
    ),
  ),
  key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        'A name of your own: the scope has one memory of it, and storing another takes its place, under the same id',
    }),
  ),
  scope,
  config,
  options: optionsWith(
    {
      dedupe: Type.Optional(
        flag('When the same content was stored with this option, its id is given and nothing is stored'),
      ),
    },
    '`{"dedupe": true}`: when the same content was stored with this option in the same scope, type, category and thread, and not updated since, its id is given and nothing is stored',
  ),
});

export const UpdateMemory = objectOf('UpdateMemoryRequest', 'What a memory is to hold.', {
  ...timesOf('as it was'),
  content: Content,
  metadata: Type.Optional(
    described(JsonObject, 'Fields that are added to the metadata or replaced in it; the others stay'),
  ),
  scope,
  config,
  options: unread,
});

export const SearchMemories = objectOf('SearchMemoryRequest', 'What is looked for, and how.', {
  query: Type.String({
    minLength: 1,
    description:
      'What is looked for, as text of at most 64 KiB; blanks alone find the newest memories, each with score 1',
  }),
  memory_type: ofType,
  category: ofCategory,
  limit: limitOf(10),
  score_threshold: Type.Number({
    minimum: 0,
    maximum: 1,
    default: 0,
    description: 'Memories with a lower score are left out; from 0 to 1',
  }),
  filters,
  retrieval_strategy: words(retrievalStrategies, {
    default: 'similarity',
    description: 'How results are found and ordered',
    meanings: {
      similarity: 'the nearest by their vectors first',
      temporal: 'the newest first, of those that pass filters and threshold',
      relevance: 'nearness, age and `metadata.importance` blended',
      hybrid: 'the results by words and by vectors fused',
      graph_traversal: 'from the nearest along `relationship` memories, up to `options.depth` steps',
    },
  }),
  distance_metric: words(distanceMetrics, {
    default: 'cosine',
    description: 'How the nearness of two vectors becomes a score from 0 to 1',
    meanings: {
      cosine: '(1 + cosine of their angle) / 2',
      euclidean: '1 / (1 + length of their difference)',
      dot_product: '(1 + their product) / 2; vectors have length 1',
      manhattan: '1 / (1 + sum of the differences of their parts)',
    },
  }),
  max_tokens: Type.Integer({
    minimum: 1,
    default: 4000,
    description:
      'The most tokens of all contents together, 4 bytes of UTF-8 counting as one; what does not fit is left out, but never the best',
  }),
  scopes: Type.Optional(
    Type.Array(Scope, {
      minItems: 1,
      maxItems: mostScopes,
      description: 'The scopes that are searched together, by one score. Default: `["own"]`',
    }),
  ),
  config,
  options: options(
    [
      'Numbers that a strategy reads; others are ignored:',
      '',
      '- `depth` (`graph_traversal`): how many steps it goes, 0 to 10, default 2',
      '- `seeds` (`graph_traversal`): how many memories it begins at, 1 to 100, default 3',
      '- `decay` (`graph_traversal`): the factor of a score for each step, 0 to 0.99, default 0.8',
      '- `alpha` (`hybrid`): the share of the vectors, 0 to 1, default 0.5',
      '- `weights` (`relevance`): an object of `similarity` (default 0.75), `recency` (0.15), `importance` (0.1); another name is 422',
      '- `half_life_days` (`relevance`): after how many days a memory counts half as recent; the default is a setting of the service',
    ].join('\n'),
  ),
});

export const ListMemories = objectOf('ListMemoriesRequest', 'Which memories are wanted, and which page of them.', {
  memory_type: ofType,
  category: ofCategory,
  filters,
  scope,
  config,
  options: unread,
  ...pagingByChange,
});

export const ForgetMemories = objectOf(
  'ForgetMemoriesRequest',
  'Which memories are deleted: those that meet every condition. Without a condition none.',
  {
    memory_type: ofType,
    category: ofCategory,
    filters,
    scope,
    config,
    options: optionsWith(
      { all: Type.Optional(flag('Without a condition, all memories of the owner are deleted')) },
      '`{"all": true}`: without a condition, all memories of the owner',
    ),
  },
);

const MemoryResult = objectOf('MemoryResult', 'A memory.', {
  id: memoryId,
  content: text('What is remembered'),
  score: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'How well it fits the query, from 0 to 1; 1 where there was no query',
  }),
  memory_type: described(MemoryType, 'The kind of the memory'),
  category: text('The category'),
  metadata: described(JsonObject, 'What the caller stored with it; `{}` without any'),
  vector: Type.Array(Type.Number({ description: 'One number of the vector' }), {
    description: 'The embedding of the content, of length 1',
  }),
  user_id: text('The id of the owner; `""` for the anonymous one, and of what is shared'),
  thread_id: text('The thread with which it is deleted; `""` without one'),
  timestamp: time('The time of what it describes; without one, when it was stored or updated last'),
  expires_at: Type.Optional(time('From when on it is found by nothing, and removed')),
  scope: Type.Optional(described(Scope, 'The scope that it is in, where that is not `own`')),
});

const success = Done.properties.success;

const created = Type.Optional(
  flag('With `key` and `dedupe`: whether it is new; `false` where the scope had it before'),
);

export const StoredMemory = objectOf('StoredMemory', 'The memory that was stored.', { memory_id: memoryId, created });

export const StoreMemories = objectOf('StoreMemoriesRequest', 'New memories.', {
  memories: Type.Array(StoreMemory, {
    minItems: 1,
    maxItems: 100,
    description: 'The memories, each as `POST /v1/store/memories` takes it',
  }),
  scope: Type.Optional(described(Scope, 'The scope of those that name none. Default: `own`')),
});
export type StoreMemory = Static<typeof StoreMemory>;

export const StoredMemories = objectOf('StoredMemories', 'What became of each memory.', {
  memories: Type.Array(
    objectOf('StoredOrRefused', 'A memory that was stored, or why it was refused.', {
      memory_id: Type.Optional(memoryId),
      created,
      error: Type.Optional(described(PartRefusal, 'Why it was refused')),
    }),
    { description: 'In the order of the request' },
  ),
});
export const OneMemory = objectOf('OneMemory', 'One memory.', { memory: described(MemoryResult, 'The memory') });
export const UpdatedMemory = objectOf('UpdatedMemory', 'The memory after the change.', {
  memory: described(MemoryResult, 'The memory as it is now'),
  success,
});
export const FoundMemories = objectOf('FoundMemories', 'The memories that were found.', {
  results: Type.Array(MemoryResult, { description: 'The memories in the order of the strategy' }),
});
export const MemoryList = objectOf('MemoryList', 'A page of memories.', {
  memories: Type.Array(MemoryResult, { description: 'The memories, newest first' }),
  total: count('How many there are on all pages, of those that meet every condition'),
  ...paged,
});
export const Forgotten = objectOf('ForgottenMemories', 'The memories that were deleted.', {
  deleted_count: count('How many were deleted'),
  memory_ids: Type.Array(text('The id of a memory'), { description: 'The deleted memories, as many as fit the reply' }),
  success,
  has_more: flag('Whether more were deleted than `memory_ids` names'),
  message: Type.Optional(text('Where nothing was selected: how memories are selected')),
});
