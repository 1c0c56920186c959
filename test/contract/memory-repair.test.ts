import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createWeaviate } from '@agent-workflow/memory/adapters/weaviate/client';
import { tenantOf, toObject } from '@agent-workflow/memory/adapters/weaviate/objects/objects';
import { findRows } from '@agent-workflow/memory/adapters/weaviate/client/queries';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import type { MemoryRecord } from '@agent-workflow/memory/ports/memory';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { toUnit, vectorToJson } from '@agent-workflow/memory/vectors/unit';
import { within } from '@agent-workflow/protos/call';
import { runToEnd } from '../servers/process.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { newPrefix, openTestStore, type WeaviateTestStore } from '../servers/weaviate-collections.ts';
import { privateWeaviate } from '../servers/weaviate.ts';
import { byLoad } from '../by-load.ts';

const embedder = hashEmbedder;
const owner = 'u:ada';
const entry = (name: string): string => fileURLToPath(import.meta.resolve(`@agent-workflow/memory/${name}`));

/** Memories by their ids. */
type Memories = Map<string, MemoryRecord>;

/** A memory whose first word no other has: its id. */
async function toMemory(memoryId: string): Promise<MemoryRecord> {
  const content = `${memoryId} is what it is about`;
  const [given = new Float32Array()] = await embedder.embed([content], within(1000));
  const vector = toUnit(given);
  const rest = { memoryType: 'semantic' as const, category: 'notes', threadId: '', timestamp: Date.now() };
  return { ...rest, memoryId, content, metadataJson: Buffer.from('{}'), vector, vectorJson: vectorToJson(vector) };
}

async function toMemories(prefix: string, count: number): Promise<MemoryRecord[]> {
  return Promise.all(Array.from({ length: count }, async (_, n) => toMemory(`${prefix}${n}`)));
}

/** Checks that each memory is there, and is what a search for its own vector, and its own first word, finds. */
async function findsAll(t: ExecutionContext, store: MemoryStore, memories: Memories): Promise<void> {
  const finds = async ({ memoryId, content, vector }: MemoryRecord): Promise<void> => {
    t.is((await store.get(owner, [memoryId]))[0]?.content, content);
    const query = { owner, narrowing: {}, limit: 1 };
    const [near] = await store.findByVector({ ...query, vector, measure: 'dot', order: 'nearest' });
    t.is(near?.head.memoryId, memoryId);
    t.is((await store.findByKeywords({ ...query, text: memoryId }))[0]?.head.memoryId, memoryId);
  };
  const rest = memories.values();
  const one = async (): Promise<void> => {
    for (const memory of rest) await finds(memory);
  };
  await Promise.all([one(), one(), one(), one()]);
}

/** In batches without a single write after them, which stay in memory for a while: a kill takes some of them from the index. */
async function putUnsafely(url: string, collection: string, into: Memories): Promise<void> {
  const raw = await createWeaviate({ url, requestTimeoutMs: 10_000 });
  for (let batch = 0; batch < 3; batch += 1) {
    const memories = await toMemories(`unsafe${batch}x`, 50);
    await raw.putMany(memories.map((memory) => toObject(collection, { owner, memory })));
    for (const memory of memories) into.set(memory.memoryId, memory);
  }
}

/** Several write until the first of them is refused; what was acknowledged is in `into`. Resolves `enough` after some. */
function startWriting(t: ExecutionContext, store: MemoryStore, into: Memories) {
  const enough = Promise.withResolvers<undefined>();
  const counts = { written: 0, refused: 0 };
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; counts.refused === 0; n += 1) {
      const memory = await toMemory(`w${writer}x${n}`);
      try {
        await store.put(owner, memory);
        into.set(memory.memoryId, memory);
        if ((counts.written += 1) === 40) enough.resolve(undefined);
      } catch (error) {
        t.true(isServiceError(error, 'Unavailable'), String(error));
        counts.refused += 1;
      }
    }
  };
  return { enough: enough.promise, writing: Promise.all([0, 1, 2, 3].map(write)), counts };
}

withServerForLong(test, privateWeaviate(), (server) => {
  test.serial('a Weaviate killed while memories are written finds every one of them after the repair', async (t) => {
    t.timeout(byLoad(120_000));
    const { url, kill, restart } = await server();
    const prefix = newPrefix();
    const repairs: number[] = [];
    const stored: Memories = new Map();
    const open = async (): Promise<WeaviateTestStore> =>
      openTestStore({ url, embedder, prefix, onRepair: (count) => repairs.push(count) });
    {
      await using store = await open();
      const { enough, writing, counts } = startWriting(t, store, stored);
      await enough;
      const before = repairs.length;
      await kill();
      await writing;
      await t.throwsAsync(store.get(owner, ['w0x0']), { name: 'Unavailable' });
      await restart();
      for (const memoryId of stored.keys()) t.is((await store.get(owner, [memoryId])).length, 1);
      await store.untilComplete();
      t.is(repairs.length, before + 1);
      await findsAll(t, store, stored);
      const { written, refused } = counts;
      t.log(`${written} of ${written + refused} writes were acknowledged, ${repairs.at(-1) ?? 0} were put again`);
    }

    // A restart that no service saw: the next one repairs, and says until then that searches may miss something.
    await putUnsafely(url, `${prefix}_1`, stored);
    await kill();
    await restart();
    await using store = await open();
    t.not(store.incompleteSince(), undefined);
    await store.untilComplete();
    t.is(store.incompleteSince(), undefined);
    await findsAll(t, store, stored);

    // What the store itself writes, one by one or many at once, is in the index when it is acknowledged.
    const loaded = await toMemories('loaded', 120);
    await store.load(loaded.map((memory) => ({ owner: 'u:bob', memory })));
    await kill();
    await restart();
    await store.untilComplete();
    const found = await store.findByVector({
      owner: 'u:bob',
      narrowing: {},
      limit: 1000,
      vector: loaded[0]?.vector ?? new Float32Array(),
      measure: 'dot',
      order: 'nearest',
    });
    t.is(found.length, loaded.length);
  });

  test.serial('reindex makes a damaged index anew; export and import bring all into an empty Weaviate', async (t) => {
    t.timeout(byLoad(120_000));
    const { url, kill, restart } = await server();
    const prefix = newPrefix();
    const folder = await mkdtemp(join(tmpdir(), 'memory-export-'));
    t.teardown(() => rm(folder, { recursive: true }));
    const file = join(folder, 'memories.ndjson');
    const run = async (name: string, words: readonly string[] = [], into = prefix) => {
      const env = { WEAVIATE_URL: url, WEAVIATE_PREFIX: into, LOG_LEVEL: 'silent' };
      const { code, output } = await runToEnd({ entry: entry(name), env, words });
      return `${code ?? 'killed'} ${output}`;
    };
    await (await openTestStore({ url, embedder, prefix }))[Symbol.asyncDispose]();
    const stored: Memories = new Map();
    await putUnsafely(url, `${prefix}_1`, stored);
    await kill();
    await restart();
    const raw = await createWeaviate({ url, requestTimeoutMs: 10_000 });
    const nearVector = (await toMemory('any')).vector;
    const scope = { collection: `${prefix}_1`, tenant: tenantOf(owner) };
    const left = await findRows(raw, { scope, fields: 'idHex', limit: 1000, nearVector });
    t.log(`${left.length} of ${stored.size} were left in the index`);

    t.regex(await run('reindex'), /^0 .*150 memories are in the new collection/s);
    {
      await using store = await openTestStore({ url, embedder, prefix });
      await store.untilComplete();
      await findsAll(t, store, stored);
      t.false((await raw.listCollections()).includes(`${prefix}_1`));
      t.regex(await run('reindex'), /^1 a memory service, or another reindex, is at work: stop it first/);
    }

    t.regex(await run('export', [file]), /^0 .*150 memories are in/s);
    const other = newPrefix();
    t.regex(await run('import', [file], other), /^0 .*150 memories are new, 0 were there/s);
    t.regex(await run('import', [file], other), /^0 .*0 memories are new, 150 were there/s);
    await using copy = await openTestStore({ url, embedder, prefix: other });
    await findsAll(t, copy, stored);
  });
});
