import type { MemoryQuery, MemoryType } from '@agent-workflow/client';

/** The kinds of memories, with what each is for. */
export const memoryTypes: Readonly<Record<MemoryType, string>> = {
  semantic: 'facts, knowledge, preferences',
  episodic: 'what happened in conversations',
  procedural: 'how something is done',
  entity: 'a person, a place or a thing',
  relationship: 'how two others are related',
  declarative: 'explicit facts and events',
  custom: 'anything else',
};

export type Strategy = NonNullable<MemoryQuery['retrieval_strategy']>;
export type Metric = NonNullable<MemoryQuery['distance_metric']>;

/** The strategies of a search, with the order that each gives. */
export const strategies: Readonly<Record<Strategy, string>> = {
  similarity: 'the nearest first',
  temporal: 'the newest first',
  relevance: 'nearness, age and importance',
  hybrid: 'nearness and keywords',
  graph_traversal: 'along relationships',
};

/** The metrics of a search, with what each makes of two vectors. */
export const metrics: Readonly<Record<Metric, string>> = {
  cosine: '(1 + cosine) / 2',
  euclidean: '1 / (1 + distance)',
  dot_product: '(1 + product) / 2',
  manhattan: '1 / (1 + sum of differences)',
};

/** The names of a closed list, typed. */
export const namesOf = <K extends string>(list: Readonly<Record<K, string>>): readonly K[] => Object.keys(list) as K[];
