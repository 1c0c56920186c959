import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { createMemories } from '@agent-workflow/memory/memories';
import type { OwnedMemory } from '@agent-workflow/memory/ports/memory';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { toUnit, vectorToJson } from '@agent-workflow/memory/vectors/unit';
import { within } from '@agent-workflow/protos/call';
import type { DistanceMetric, RetrievalStrategy } from '@agent-workflow/protos/lists';
import type { Memory } from '@agent-workflow/protos/memory';
import { openTestStore } from '../servers/weaviate-collections.ts';
import { privateWeaviate } from '../servers/weaviate.ts';

// Searches among very many memories of one owner, in both stores: `npx node test/bench/memory-stores.ts [memories] [searches]`.

const owner = 'u:ada';
const count = Number(process.argv[2] ?? 100_000);
const searches = Number(process.argv[3] ?? 100);
const words = (
  'harbour sister invoice printer breakfast contract opens prefers needs forgot explains delivers avoids green tea second ' +
  'floor longer deadline quiet mornings blue paper river stone coffee piano garden window yellow bicycle winter letter doctor ' +
  'kitchen island battery camera market violin tower bridge forest engine tickets'
).split(' ');

/** A word of the list that a number chooses, the same each time. */
const wordAt = (number: number): string => words[Math.imul(number, 0x9e3779b1) >>> 27] ?? 'else';
const sentence = (n: number): string =>
  Array.from({ length: 6 + (n % 6) }, (_, place) => wordAt(n * 31 + place * 7)).join(' ') + ` note ${String(n)}`;

async function toMemory(n: number): Promise<OwnedMemory> {
  const content = sentence(n);
  const [given = new Float32Array()] = await hashEmbedder.embed([content], within(1000));
  const vector = toUnit(given);
  const memory = {
    memoryId: `m${String(n).padStart(8, '0')}`,
    content,
    memoryType: 'semantic' as const,
    category: n % 10 === 0 ? 'rare' : 'notes',
    threadId: '',
    timestamp: Date.UTC(2025, 0, 1) + n * 1000,
    metadataJson: Buffer.from(JSON.stringify({ n, tag: String(n % 100) })),
    vector,
    vectorJson: vectorToJson(vector),
  };
  return { owner, memory };
}

interface Kind {
  readonly name: string;
  readonly strategy: RetrievalStrategy;
  readonly metric?: DistanceMetric;
  readonly filters?: object;
}

const kinds: readonly Kind[] = [
  { name: 'similarity', strategy: 'similarity' },
  { name: 'similarity, filter', strategy: 'similarity', filters: { tag: '7' } },
  { name: 'similarity, manhattan', strategy: 'similarity', metric: 'manhattan' },
  { name: 'temporal', strategy: 'temporal' },
  { name: 'relevance', strategy: 'relevance' },
  { name: 'hybrid', strategy: 'hybrid' },
  { name: 'graph_traversal', strategy: 'graph_traversal' },
];

async function search(memory: Memory, { strategy, metric = 'cosine', filters }: Kind, n: number): Promise<void> {
  const { results } = await memory.search(
    {
      owner,
      query: `who ${wordAt(n)} ${wordAt(n + 1)} ${wordAt(n + 2)}`,
      selection: filters ? { filtersJson: Buffer.from(JSON.stringify(filters)) } : {},
      limit: 10,
      scoreThreshold: 0,
      retrievalStrategy: strategy,
      distanceMetric: metric,
      maxTokens: 1e6,
    },
    within(120_000),
  );
  if (results.length === 0) throw new Error(`${strategy} found nothing`);
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

async function measure(name: string, store: MemoryStore): Promise<void> {
  const begun = performance.now();
  for (let from = 0; from < count; from += 500) {
    const size = Math.min(500, count - from);
    await store.load(await Promise.all(Array.from({ length: size }, async (_, n) => toMemory(from + n))));
  }
  const seconds = (performance.now() - begun) / 1000;
  print(`${name}: ${String(count)} memories loaded in ${seconds.toFixed(0)} s`);
  const memory = createMemories({ store, embedder: hashEmbedder, halfLifeDays: 30 });
  for (const kind of kinds) {
    const times: number[] = [];
    for (let n = 0; n < searches; n += 1) {
      const start = performance.now();
      await search(memory, kind, n);
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    const at = (share: number): string => (times[Math.floor(times.length * share)] ?? NaN).toFixed(1).padStart(8);
    print(`${name.padEnd(9)} ${kind.name.padEnd(22)} p50 ${at(0.5)} ms   p99 ${at(0.99)} ms`);
  }
  print(`${name}: the service's process holds ${megabytes(process.memoryUsage.rss())}`);
}

/** The resident memory of the Weaviate that listens on a port. */
function weaviateMemory(port: string): string {
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (!command.includes('weaviate') || !command.split('\0').includes(port)) continue;
      const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      if (resident !== undefined) return megabytes(Number(resident) * 1024);
    } catch {
      // It ended meanwhile.
    }
  }
  return 'unknown';
}

{
  await using server = await privateWeaviate().open();
  await using store = await openTestStore({ url: server.url, embedder: hashEmbedder, requestTimeoutMs: 60_000 });
  await measure('Weaviate', store);
  print(`Weaviate itself holds ${weaviateMemory(new URL(server.url).port)}`);
}
const folder = await mkdtemp(join(tmpdir(), 'memory-bench-'));
{
  await using store = openSqliteMemoryStore({ path: join(folder, 'memory.sqlite'), embedder: hashEmbedder });
  await measure('SQLite', store);
}
await rm(folder, { recursive: true });
