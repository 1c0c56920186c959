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

interface StrategyWords {
  /** What it is called. */
  readonly title: string;
  /** By what it finds, and in which order: the end of `12 found …`. */
  readonly found: string;
}

/** The strategies of a search; the one that the page takes when none is chosen comes first. */
export const strategies: Readonly<Record<Strategy, StrategyWords>> = {
  hybrid: { title: 'Meaning and words', found: 'by meaning and words, best first' },
  similarity: { title: 'Meaning', found: 'by meaning, nearest first' },
  relevance: { title: 'Relevance', found: 'by meaning, age and importance' },
  temporal: { title: 'Newest', found: 'by meaning, newest first' },
  graph_traversal: { title: 'Relationships', found: 'by meaning, and along relationships' },
};

/** The metrics of a search, with what each makes of two vectors. */
export const metrics: Readonly<Record<Metric, string>> = {
  cosine: '(1 + cosine) / 2',
  euclidean: '1 / (1 + distance)',
  dot_product: '(1 + product) / 2',
  manhattan: '1 / (1 + sum of differences)',
};

/** The names of a closed list, typed. */
export const namesOf = <K extends string>(list: Readonly<Record<K, unknown>>): readonly K[] => Object.keys(list) as K[];

/** The name of a closed list that a text is; `undefined` where it is none. */
export const nameIn = <K extends string>(list: Readonly<Record<K, unknown>>, text: string | undefined): K | undefined =>
  namesOf(list).find((name) => name === text);
