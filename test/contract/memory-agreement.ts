import fc from 'fast-check';
import { queryTermsOf } from '@agent-workflow/memory/words/terms';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { within } from '@agent-workflow/protos/call';
import type { MemoryType } from '@agent-workflow/protos/lists';
import type { Memory, MemoryItem, SearchRequest } from '@agent-workflow/protos/memory';
import { byLoad } from '../by-load.ts';

// Memories and queries that two stores are asked about, and what a look at every memory says to them.

export const strategies = ['similarity', 'temporal', 'relevance', 'hybrid', 'graph_traversal'] as const;
export const metrics = ['cosine', 'dot_product', 'euclidean', 'manhattan'] as const;
type Strategy = (typeof strategies)[number];
type Metric = (typeof metrics)[number];

const words = (
  'harbour sister invoice printer breakfast contract opens prefers needs forgot explains delivers avoids green tea second ' +
  'floor longer deadline quiet mornings blue paper river stone coffee piano garden window yellow bicycle winter letter doctor ' +
  'kitchen island battery camera market violin tower bridge forest engine tickets running walked studies codes'
).split(' ');
const word = fc.constantFrom(...words);
const sentence = fc.array(word, { minLength: 4, maxLength: 12 }).map((list) => list.join(' '));

/** What is stored; ids and times follow from the place in the list. */
interface Note {
  readonly content: string;
  readonly memoryType: MemoryType;
  readonly category: string;
  readonly threadId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const metadata = fc.record(
  {
    n: fc.integer({ min: 0, max: 9 }),
    tag: fc.constantFrom('a', 'b', 'c'),
    done: fc.boolean(),
    importance: fc.double({ min: 0, max: 1, noNaN: true }),
    deep: fc.constant({ list: [1, 2] }),
  },
  { requiredKeys: [] },
);

const places = { category: fc.constantFrom('notes', 'facts', ''), threadId: fc.constantFrom('', '', 't1', 't2') };

const plain = fc.record({
  ...places,
  content: sentence,
  memoryType: fc.constantFrom('semantic', 'episodic'),
  metadata,
});
const entity = fc.record({
  ...places,
  content: sentence,
  memoryType: fc.constant('entity'),
  metadata: fc.record({ name: word }),
});
const relationship = fc.record({
  ...places,
  content: sentence,
  memoryType: fc.constant('relationship'),
  metadata: fc.record({ source: word, target: word }),
});
const note: fc.Arbitrary<Note> = fc.oneof(
  { weight: 8, arbitrary: plain },
  { weight: 1, arbitrary: entity },
  { weight: 1, arbitrary: relationship },
);

/** The same notes each time. */
export const notesOf = (count: number, seed: number): Note[] => fc.sample(note, { numRuns: count, seed });

export interface Query {
  readonly text: string;
  readonly strategy: Strategy;
  readonly metric: Metric;
  readonly limit: number;
  readonly threshold: number;
  readonly memoryType: MemoryType | undefined;
  readonly category: string | undefined;
  readonly filters: Readonly<Record<string, unknown>> | undefined;
}

const filters = fc.oneof(
  fc.record({ tag: fc.constantFrom('a', 'b') }),
  fc.record({ n: fc.record({ $gte: fc.integer({ min: 0, max: 6 }) }) }),
  fc.record({ n: fc.record({ $in: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 4 }) }) }),
  fc.record({ done: fc.boolean(), tag: fc.record({ $ne: fc.constant('a') }) }),
  fc.record({ deep: fc.constant({ list: [1, 2] }) }),
  fc.record({ tag: fc.constant(null) }),
  fc.record({ thread_id: fc.constantFrom('t1', 't2') }),
);

/** Scores that some reach and some do not. */
const thresholds: Readonly<Record<Metric, number>> = {
  cosine: 0.55,
  dot_product: 0.55,
  euclidean: 0.43,
  manhattan: 0.06,
};

/** `each` queries for every pair of strategy and metric, the same each time. */
export const queriesOf = (each: number): Query[] =>
  strategies.flatMap((strategy, row) =>
    metrics.flatMap((metric, column) =>
      fc.sample(
        fc.record({
          text: fc.array(word, { minLength: 1, maxLength: 5 }).map((list) => `who ${list.join(' ')}`),
          strategy: fc.constant(strategy),
          metric: fc.constant(metric),
          limit: fc.constantFrom(10, 10, 3, 25),
          threshold: fc.constantFrom(0, 0, 0, thresholds[metric]),
          memoryType: fc.constantFrom(undefined, undefined, 'semantic'),
          category: fc.constantFrom(undefined, undefined, 'notes', ''),
          filters: fc.option(filters, { nil: undefined }),
        }),
        { numRuns: each, seed: 100 + row * 10 + column },
      ),
    ),
  );

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

export const toRequest = (owner: string, query: Query): SearchRequest => ({
  owner,
  query: query.text,
  selection: {
    ...(query.memoryType !== undefined && { memoryType: query.memoryType }),
    ...(query.category !== undefined && { category: query.category }),
    ...(query.filters && { filtersJson: toJson(query.filters) }),
  },
  limit: query.limit,
  scoreThreshold: query.threshold,
  retrievalStrategy: query.strategy,
  distanceMetric: query.metric,
  maxTokens: 1e9,
});

/** `from` is the place of the first of them among the owner's notes. */
export async function storeNotes(memory: Memory, owner: string, notes: readonly Note[], from: number): Promise<void> {
  await Promise.all(
    notes.map(async ({ metadata: given, ...fields }, place) => {
      const memoryId = `m${String(from + place).padStart(6, '0')}`;
      await memory.store({ owner, memoryId, ...fields, metadataJson: toJson(given) }, within(byLoad(60_000)));
    }),
  );
}

/** What an oracle knows of a memory. */
export interface Known extends MemoryItem {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly vector: readonly number[];
}

export async function readAll(memory: Memory, owner: string): Promise<Known[]> {
  const known: Known[] = [];
  let cursor: string | undefined;
  do {
    const page = await memory.list(
      { owner, selection: {}, limit: 1000, offset: 0, ...(cursor !== undefined && { cursor }) },
      within(byLoad(60_000)),
    );
    for (const item of page.memories) {
      const parse = (json: Uint8Array): unknown => JSON.parse(Buffer.from(json).toString());
      const fields = parse(item.metadataJson) as Known['metadata'];
      known.push({ ...item, metadata: fields, vector: parse(item.vectorJson) as number[] });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return known;
}

export interface Scored {
  readonly memoryId: string;
  readonly score: number;
  readonly timestamp: number;
}

interface Asked {
  readonly query: Query;
  readonly vector: readonly number[];
  readonly all: readonly Known[];
  /** The share of the best that each memory has by words. */
  readonly byWords: ReadonlyMap<string, number>;
  readonly now: number;
}

/** Every memory that passes, with its score, in the order of the strategy: by looking at each of them. */
export function searchAll(asked: Asked): Scored[] {
  const { query, all, vector } = asked;
  const near = new Map(all.map((known) => [known.memoryId, similarity[query.metric](vector, known.vector)]));
  const scores = query.strategy === 'graph_traversal' ? walk(asked, near) : blended(asked, near);
  const passing = all.flatMap((known): Scored[] => {
    const score = scores.get(known.memoryId);
    if (score === undefined || score < query.threshold - 1e-9 || !passes(query, known)) return [];
    return [{ memoryId: known.memoryId, score, timestamp: known.timestamp }];
  });
  const byTime = (a: Scored, b: Scored): number => b.timestamp - a.timestamp || (a.memoryId < b.memoryId ? 1 : -1);
  return passing.sort((a, b) => (query.strategy === 'temporal' ? byTime(a, b) : b.score - a.score || byTime(a, b)));
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, place) => sum + value * (b[place] ?? 0), 0);
const byDistance = (distance: number): number => 1 / (1 + distance);
const similarity: Readonly<Record<Metric, (a: readonly number[], b: readonly number[]) => number>> = {
  cosine: (a, b) => (1 + dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))) / 2,
  dot_product: (a, b) => (1 + dot(a, b)) / 2,
  euclidean: (a, b) => byDistance(Math.hypot(...a.map((value, place) => value - (b[place] ?? 0)))),
  manhattan: (a, b) => byDistance(a.reduce((sum, value, place) => sum + Math.abs(value - (b[place] ?? 0)), 0)),
};

function blended({ query, all, byWords, now }: Asked, near: ReadonlyMap<string, number>): Map<string, number> {
  const dayMs = 86_400_000;
  return new Map(
    all.map(({ memoryId, timestamp, metadata: fields }) => {
      const sim = near.get(memoryId) ?? 0;
      const weight = typeof fields['importance'] === 'number' ? fields['importance'] : 0.5;
      const fresh = 0.5 ** ((now - timestamp) / (30 * dayMs));
      if (query.strategy === 'relevance') return [memoryId, 0.75 * sim + 0.15 * fresh + 0.1 * weight];
      if (query.strategy === 'hybrid') return [memoryId, 0.5 * sim + 0.5 * (byWords.get(memoryId) ?? 0)];
      return [memoryId, sim];
    }),
  );
}

/** From the seeds along relationships, two steps, each taking a fifth of the score. */
function walk({ query, all }: Asked, near: ReadonlyMap<string, number>): Map<string, number> {
  const ranked = all
    .filter((known) => passes(query, known))
    .sort(
      (a, b) =>
        (near.get(b.memoryId) ?? 0) - (near.get(a.memoryId) ?? 0) ||
        b.timestamp - a.timestamp ||
        (a.memoryId < b.memoryId ? 1 : -1),
    )
    .slice(0, 3);
  const best = near.get(ranked[0]?.memoryId ?? '') ?? 0;
  const seeds = ranked.filter(({ memoryId }) => (near.get(memoryId) ?? 0) >= best * 0.9);
  const ends = ({ memoryType, metadata: fields }: Known): string[] =>
    memoryType === 'relationship' ? [String(fields['source']), String(fields['target'])] : [];
  const nameOf = (known: Known): string =>
    known.memoryType === 'entity' ? String(known.metadata['name']) : known.memoryId;

  const reached = new Map(seeds.map(({ memoryId }) => [memoryId, near.get(memoryId) ?? 0]));
  const at = new Map<string, number>();
  const raise = (map: Map<string, number>, key: string, score: number): void => {
    map.set(key, Math.max(map.get(key) ?? 0, score));
  };
  for (const seed of seeds)
    for (const name of [nameOf(seed), ...ends(seed)]) raise(at, name, near.get(seed.memoryId) ?? 0);
  for (let step = 0; step < 2; step += 1) {
    const before = new Map(at);
    for (const way of all) {
      const score = Math.max(0, ...ends(way).map((end) => before.get(end) ?? 0)) * 0.8;
      if (score === 0) continue;
      raise(reached, way.memoryId, score);
      for (const end of ends(way)) raise(at, end, score);
    }
  }
  for (const known of all) {
    const score = at.get(nameOf(known));
    if (score !== undefined) raise(reached, known.memoryId, score);
  }
  return reached;
}

type Passing = Pick<Known, 'memoryType' | 'category' | 'threadId' | 'metadata'>;

function passes({ memoryType, category, filters: wanted = {} }: Query, known: Passing): boolean {
  if (memoryType !== undefined && known.memoryType !== memoryType) return false;
  if (category !== undefined && known.category !== category) return false;
  return Object.entries(wanted).every(([field, condition]) => {
    const value = field === 'thread_id' ? known.threadId : known.metadata[field];
    if (condition === null || typeof condition !== 'object') return value === condition;
    const { $gte, $in, $ne } = condition as { $gte?: number; $in?: unknown[]; $ne?: unknown };
    if ($gte !== undefined) return typeof value === 'number' && value >= $gte;
    if ($in) return $in.includes(value);
    if ($ne !== undefined) return value !== $ne;
    return JSON.stringify(value) === JSON.stringify(condition);
  });
}

/** The share of the best that each memory has by words, as the store itself scores them. */
export async function wordsOf(store: MemoryStore, owner: string, query: Query): Promise<Map<string, number>> {
  if (queryTermsOf(query.text).length === 0) return new Map();
  const accepts = (head: Passing): boolean => passes(query, head);
  const hits = await store.findByKeywords({ owner, text: query.text, narrowing: {}, accepts, limit: 9000 });
  const best = hits[0]?.score ?? 1;
  return new Map(hits.map(({ head, score }) => [head.memoryId, score / best]));
}
