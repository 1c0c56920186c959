import test from 'ava';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { createMemories } from '@agent-workflow/memory/memories';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import { withServerForLong } from '../servers/real-suite.ts';
import { openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import {
  searchAll,
  metrics,
  notesOf,
  queriesOf,
  readAll,
  storeNotes,
  strategies,
  toRequest,
  wordsOf,
  type Known,
  type Query,
  type Scored,
} from './memory-agreement.ts';
import { byLoad } from '../by-load.ts';

const begin = Date.UTC(2025, 0, 1);
const now = begin + 90 * 86_400_000;
const call = within(byLoad(600_000));
const tie = 1e-5;

/** Two owners: one of whom everything is looked at, and one with more than the strategies that blend look at. */
const owners = [
  { owner: 'u:ada', notes: notesOf(300, 1) },
  { owner: 'u:bob', notes: notesOf(1500, 2) },
];

/** How many queries go to each pair of strategy and metric. */
const each = 26;

interface Subject {
  readonly name: string;
  readonly store: MemoryStore;
  readonly memory: Memory;
}

/** Share of what the oracle has in its first ten that is in the answer; ties with the tenth count alike. */
function recall(found: readonly Scored[], expected: readonly Scored[], query: Query): number {
  const size = Math.min(10, query.limit, expected.length);
  if (size === 0) return found.length === 0 ? 1 : 0;
  const least = expected[size - 1];
  const good = new Map(expected.map((scored) => [scored.memoryId, scored]));
  const counts = ({ memoryId }: Scored): boolean => {
    const scored = good.get(memoryId);
    if (!scored || !least) return false;
    return query.strategy === 'temporal' ? scored.timestamp >= least.timestamp : scored.score >= least.score - tie;
  };
  return found.slice(0, size).filter(counts).length / size;
}

/** Whether two answers are one: scores alike, and places changed by memories alone that score alike. */
function agrees(a: readonly Scored[], b: readonly Scored[], query: Query): boolean {
  if (a.length !== b.length) return false;
  const last = a.at(-1)?.score ?? 0;
  const inB = new Map(b.map((scored) => [scored.memoryId, scored.score]));
  return a.every(({ memoryId, score }, place) => {
    const there = b[place];
    if (!there || (query.strategy === 'temporal' && there.memoryId !== memoryId)) return false;
    if (Math.abs(there.score - score) > tie) return false;
    const same = inB.get(memoryId);
    return same === undefined ? Math.abs(score - last) <= tie : Math.abs(same - score) <= tie;
  });
}

const overlap = (a: readonly Scored[], b: readonly Scored[]): number => {
  const ids = new Set(b.slice(0, 10).map(({ memoryId }) => memoryId));
  const size = Math.max(Math.min(10, a.length), ids.size);
  return size === 0 ? 1 : a.slice(0, 10).filter(({ memoryId }) => ids.has(memoryId)).length / size;
};

withServerForLong(test, weaviate, (server) => {
  test('SQLite and Weaviate find what a look at every memory finds, in the same order', async (t) => {
    t.timeout(byLoad(180_000));
    await using opened = new AsyncDisposableStack();
    let time = begin;
    const subjectOf = (name: string, store: MemoryStore): Subject => ({
      name,
      store: opened.use(store),
      memory: createMemories({ store, embedder: hashEmbedder, halfLifeDays: 30, now: () => time }),
    });
    const sqlite = subjectOf('SQLite', openSqliteMemoryStore({ path: ':memory:', embedder: hashEmbedder }));
    for (const { owner, notes } of owners) {
      // Ten memories share a moment.
      for (let from = 0; from < notes.length; from += 10) {
        time += 600_000;
        await storeNotes(sqlite.memory, owner, notes.slice(from, from + 10), from);
      }
    }
    const { url } = await server();
    const cluster = subjectOf('Weaviate', await openTestStore({ url, embedder: hashEmbedder }));
    await cluster.store.load(await Array.fromAsync(sqlite.store.scan()));
    time = now;

    const known = new Map<string, Known[]>();
    for (const { owner } of owners) known.set(owner, await readAll(sqlite.memory, owner));
    const queries = queriesOf(each).map((query, place) => ({ query, owner: place % 8 === 0 ? 'u:bob' : 'u:ada' }));
    t.true(queries.length >= 500);
    const table = createTable();
    await eachOf(queries, async ({ query, owner }) => {
      const all = known.get(owner) ?? [];
      const [vector = new Float32Array()] = await hashEmbedder.embed([query.text], call);
      const answers: Scored[][] = [];
      for (const subject of [sqlite, cluster]) {
        const found = (await subject.memory.search(toRequest(owner, query), call)).results;
        const byWords =
          query.strategy === 'hybrid' ? await wordsOf(subject.store, owner, query) : new Map<string, number>();
        const expected = searchAll({ query, vector: [...vector], all, byWords, now });
        table.note(query, subject.name, recall(found, expected, query));
        answers.push([...found]);
      }
      const [ours = [], theirs = []] = answers;
      if (query.strategy === 'hybrid') table.note(query, 'overlap', overlap(ours, theirs));
      else if (query.metric !== 'manhattan') {
        const same = agrees(ours, theirs, query);
        table.note(query, 'same order', same ? 1 : 0);
        if (!same) t.log(query, ours.map(toLine), theirs.map(toLine));
      }
    });
    t.log(table.text(queries.length));
    for (const strategy of strategies) {
      for (const metric of metrics) {
        const cell = (column: string): number => table.mean(strategy, metric, column);
        for (const name of ['SQLite', 'Weaviate']) t.true(cell(name) >= 0.99, `${strategy} ${metric} ${name}`);
        if (strategy === 'hybrid') t.true(cell('overlap') >= 0.9, `${strategy} ${metric} overlap`);
        else if (metric !== 'manhattan') t.is(cell('same order'), 1, `${strategy} ${metric} order`);
      }
    }
  });
});

const toLine = ({ memoryId, score }: Scored): string => `${memoryId} ${String(score)}`;

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const one = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all([one(), one(), one()]);
}

interface Table {
  readonly note: (query: Query, column: string, value: number) => void;
  readonly mean: (strategy: string, metric: string, column: string) => number;
  readonly text: (queries: number) => string;
}

function createTable(): Table {
  const cells = new Map<string, number[]>();
  const keyOf = (...parts: readonly string[]): string => parts.join(' ');
  const mean: Table['mean'] = (strategy, metric, column) => {
    const values = cells.get(keyOf(strategy, metric, column)) ?? [];
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  const columns = ['SQLite', 'Weaviate', 'overlap', 'same order'];
  return {
    note: ({ strategy, metric }, column, value) => {
      const key = keyOf(strategy, metric, column);
      cells.set(key, [...(cells.get(key) ?? []), value]);
    },
    mean,
    text: (queries) => {
      const rows = strategies.flatMap((strategy) =>
        metrics.map((metric) => {
          const numbers = columns.map((column) => mean(strategy, metric, column));
          const texts = numbers.map((value) => (Number.isNaN(value) ? '' : value.toFixed(4)).padStart(10));
          return `${strategy.padEnd(16)} ${metric.padEnd(12)} ${texts.join(' ')}`;
        }),
      );
      const head = `${'strategy'.padEnd(16)} ${'metric'.padEnd(12)} ${columns.map((name) => name.padStart(10)).join(' ')}`;
      return [`recall at 10 of ${String(queries)} queries`, head, ...rows].join('\n');
    },
  };
}
