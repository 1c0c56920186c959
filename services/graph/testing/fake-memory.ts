import { readTime } from '@agent-workflow/protos/message';
import {
  memoryNames,
  type BoundMemory,
  type MemoryConditions,
  type MemoryFound,
  type MemoryOutcome,
  type NewMemory,
} from '../build/context.ts';
import { distanceMetrics, memoryStrategies, memoryTypes, requireListed } from '../build/memory-lists.ts';
import { toStrictJson } from '../state/json-value.ts';
import { refuseUnknown } from '../state/refuse-unknown.ts';

/** A memory as {@link fakeMemory} keeps it. */
export type StoredMemory = Omit<MemoryFound, 'score'>;

export interface FakeMemory extends BoundMemory {
  /** What is stored, oldest first. */
  readonly stored: readonly StoredMemory[];
}

/** The most bytes of a memory's metadata. */
const maxMetadataBytes = 64 * 1024;

/**
 * A memory for tests, in the process. `search` finds the memories that hold words of the query, those with most of them first; the
 * score is the part of its words that they hold, and strategies make no difference. What has expired is not found. Its clock is the real one, but a memory
 * has a `timestamp` only where one was given, so that two tests that do the same store the same.
 * @example walk(graph, { context: [user('Which colour?')], run: { memory: fakeMemory() } })
 */
export function fakeMemory(): FakeMemory {
  const stored: StoredMemory[] = [];
  let count = 0;
  const idsByName = new Map<string, string>();
  const meeting = (conditions: MemoryConditions, scopes: readonly string[] = ['own']): StoredMemory[] => {
    const { category, memoryType, filters = {} } = conditions;
    requireListed('memoryType', memoryTypes, memoryType);
    return stored
      .filter(({ scope = 'own' }) => scopes.includes(scope))
      .filter((memory) => category === undefined || memory.category === category)
      .filter((memory) => memoryType === undefined || memory.memoryType === memoryType)
      .filter(({ expiresAt }) => expiresAt === undefined || Date.parse(expiresAt) > Date.now())
      .filter((memory) => passesFilters(filters, memory));
  };
  const placeOf = (id: string, scope = 'own'): number => {
    const at = stored.findIndex((memory) => memory.id === id && (memory.scope ?? 'own') === scope);
    if (at < 0) throw new Error(`memory "${id}" does not exist`);
    return at;
  };
  const store = async (memory: NewMemory): Promise<string> => {
    const {
      content,
      memoryType = 'semantic',
      category = 'general',
      metadata = {},
      key,
      dedupe,
      scope = 'own',
    } = memory;
    requireContent(content);
    refuseUnknown('what memory.store is given', '', memory, memoryNames.store);
    requireListed('memoryType', memoryTypes, memoryType);
    const identity = key === undefined ? ['content', memoryType, category, content] : ['key', key];
    const name = key !== undefined || dedupe === true ? JSON.stringify([scope, ...identity]) : undefined;
    const known = name === undefined ? undefined : idsByName.get(name);
    const at = stored.findIndex(({ id }) => id === known);
    if (known !== undefined && at >= 0 && key === undefined) return known;
    // Not at random, so that two tests that do the same store the same.
    const id = at >= 0 && known !== undefined ? known : `memory-${String(++count)}`;
    if (name !== undefined) idsByName.set(name, id);
    if (at >= 0) stored.splice(at, 1);
    const where = scope === 'own' ? {} : { scope };
    stored.push({ id, content, memoryType, category, metadata: toMetadata(metadata), ...toTimes(memory), ...where });
    return id;
  };
  return {
    stored,
    store,
    storeAll: async (memories) => {
      const outcomes: MemoryOutcome[] = [];
      for (const memory of memories)
        outcomes.push(
          await store(memory).then(
            (id) => ({ id }),
            (error: unknown) => ({ error: error as Error }),
          ),
        );
      return outcomes;
    },
    search: async (query, options = {}) => {
      if (typeof query !== 'string') throw new TypeError('query of a search of memories must be a text');
      refuseUnknown('what memory.search is given', '', options, memoryNames.search);
      const { limit = 10, strategy, distanceMetric, scoreThreshold = 0 } = options;
      requireListed('strategy', memoryStrategies, strategy);
      requireListed('distanceMetric', distanceMetrics, distanceMetric);
      return meeting(options, options.scopes)
        .map((memory) => ({ ...memory, score: scoreOf(query, memory.content) }))
        .filter(({ score }) => score > 0 && score >= scoreThreshold)
        .toSorted((one, other) => other.score - one.score)
        .slice(0, limit);
    },
    update: async (id, change, { scope } = {}) => {
      requireContent(change.content);
      refuseUnknown('what memory.update is given', '', change, memoryNames.update);
      const at = placeOf(id, scope);
      const { content, metadata = {} } = change;
      const before = stored[at] as StoredMemory;
      const merged = toMetadata({ ...before.metadata, ...metadata });
      const memory = { ...before, content, metadata: merged, ...toTimes(change) };
      // It was changed last.
      stored.splice(at, 1);
      stored.push(memory);
      return { ...memory, score: 1 };
    },
    list: async (options = {}) => {
      refuseUnknown('what memory.list is given', '', options, memoryNames.list);
      const { limit = 100, cursor = '0', scope = 'own' } = options;
      const all = meeting(options, [scope]).toReversed();
      const end = Number(cursor) + limit;
      const memories = all.slice(Number(cursor), end).map((memory) => ({ ...memory, score: 1 }));
      return { memories, total: all.length, ...(end < all.length && { cursor: String(end) }) };
    },
    delete: async (id, { scope = 'own' } = {}) => {
      if (typeof id !== 'string') throw new TypeError('id of a memory to delete must be a text');
      const at = stored.findIndex((memory) => memory.id === id && (memory.scope ?? 'own') === scope);
      if (at >= 0) stored.splice(at, 1);
    },
    forget: async (conditions) => {
      refuseUnknown('what memory.forget is given', '', conditions, memoryNames.forget);
      const { scope = 'own', all, ...given } = conditions;
      if (all !== true && Object.values(given).every((condition) => condition === undefined))
        throw new TypeError('memory.forget needs a condition, or all');
      const found = meeting(given, [scope]);
      for (const { id } of found) stored.splice(placeOf(id, scope), 1);
      return found.length;
    },
  };
}

function requireContent(content: unknown): void {
  if (typeof content !== 'string' || content.trim() === '') throw new TypeError('content of a memory must be a text');
}

const toMetadata = (given: unknown): StoredMemory['metadata'] =>
  toStrictJson(given, 'metadata', maxMetadataBytes) as StoredMemory['metadata'];

type Given = Parameters<BoundMemory['update']>[1];

function toTimes({ timestamp, expiresAt }: Pick<Given, 'timestamp' | 'expiresAt'>): Partial<StoredMemory> {
  const toText = (given: NonNullable<Given['timestamp']>, name: string): string => {
    const ms = readTime(given instanceof Date ? given.getTime() : given, [name]);
    return new Date(ms ?? 0).toISOString();
  };
  return {
    ...(timestamp !== undefined && { timestamp: toText(timestamp, 'timestamp') }),
    ...(expiresAt !== undefined && { expiresAt: toText(expiresAt, 'expiresAt') }),
  };
}

function scoreOf(query: string, content: string): number {
  const terms = wordsOf(query);
  const words = wordsOf(content);
  const held = [...terms].filter((term) => words.has(term)).length;
  return terms.size === 0 ? 0 : held / terms.size;
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

type Test = (value: unknown, operand: unknown) => boolean;

/** Both are JSON. */
const isSame = (value: unknown, other: unknown): boolean => JSON.stringify(value) === JSON.stringify(other);

const ordered =
  (holds: (order: number) => boolean): Test =>
  (value, operand) =>
    (typeof value === 'number' || typeof value === 'string') &&
    typeof value === typeof operand &&
    holds(value > (operand as typeof value) ? 1 : value < (operand as typeof value) ? -1 : 0);

const tests: Readonly<Record<string, Test>> = {
  $gt: ordered((order) => order > 0),
  $gte: ordered((order) => order >= 0),
  $lt: ordered((order) => order < 0),
  $lte: ordered((order) => order <= 0),
  $ne: (value, operand) => !isSame(value, operand),
  $in: (value, operand) => Array.isArray(operand) && operand.some((each) => isSame(value, each)),
};

/** Whether a memory meets the filters: equality, or operators that all hold. @throws TypeError for an operator that there is not. */
const passesFilters = (filters: Readonly<Record<string, unknown>>, memory: Omit<MemoryFound, 'score'>): boolean =>
  Object.entries(filters).every(([field, condition]) => passes(valueOf(memory, field), condition));

function valueOf({ metadata, memoryType, category, timestamp }: Omit<MemoryFound, 'score'>, field: string): unknown {
  if (Object.hasOwn(metadata, field)) return metadata[field];
  return { memory_type: memoryType, category, timestamp }[field];
}

function passes(value: unknown, condition: unknown): boolean {
  const isOperators = typeof condition === 'object' && condition !== null && !Array.isArray(condition);
  if (!isOperators || !Object.keys(condition).some((name) => name.startsWith('$'))) return isSame(value, condition);
  return Object.entries(condition).every(([name, operand]) => {
    const test = Object.hasOwn(tests, name) ? tests[name] : undefined;
    if (!test) throw new TypeError(`a filter must be one of ${Object.keys(tests).join(', ')}, not ${name}`);
    return test(value, operand);
  });
}
