import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MemoryRecord } from '../../ports/memory.ts';
import type { MemoryStore } from '../../ports/store.ts';
import { openSqliteMemoryStore } from './store.ts';

const embedder = { model: 'none', dimension: 2 };
const vocabulary = ['amber', 'birch', 'cedar', 'dune', 'ember'];

const record = (memoryId: string, content: string): MemoryRecord => ({
  memoryId,
  content,
  memoryType: 'semantic',
  category: 'notes',
  threadId: '',
  timestamp: 1,
  metadataJson: Buffer.from('{}'),
  vector: new Float32Array([1, 0]),
  vectorJson: Buffer.from('[1,0]'),
});

const memoryId = fc.integer({ min: 0, max: 59 }).map((number) => `m${String(number)}`);
const word = fc.constantFrom(...vocabulary);
const move = fc.oneof(
  { weight: 12, arbitrary: fc.tuple(fc.constant('put'), memoryId, word) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('update'), memoryId, word) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('remove'), memoryId, word) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('find'), memoryId, word) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('reopen'), memoryId, word) },
) as fc.Arbitrary<['put' | 'update' | 'remove' | 'find' | 'reopen', string, string]>;

test('the index finds the words of the stored contents after any puts, updates and removals, also after a restart', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'words-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  let files = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 60, maxLength: 160 }), async (moves) => {
      const path = join(folder, `${String(files++)}.sqlite`);
      let store = openSqliteMemoryStore({ path, embedder });
      const known = new Map<string, string>();
      for (const [what, id, content] of moves) {
        if (what === 'put' && (await store.put('anon', record(id, content)))) known.set(id, content);
        if (what === 'update' && (await store.update('anon', id, () => record(id, content)))) known.set(id, content);
        if (what === 'remove' && (await store.remove('anon', [id])).count > 0) known.delete(id);
        if (what === 'find') t.deepEqual(await idsWith(store, content), idsOf(known, content));
        if (what !== 'reopen') continue;
        await store[Symbol.asyncDispose]();
        store = openSqliteMemoryStore({ path, embedder });
      }
      for (const each of vocabulary) t.deepEqual(await idsWith(store, each), idsOf(known, each));
      await store[Symbol.asyncDispose]();
    }),
    { numRuns: 12 },
  );
});

test('memories of other owners change no score', async (t) => {
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder });
  const contents = ['zebra one', 'the zebra grazes', 'quagga two', 'grass', 'quagga and grass'];
  for (const [place, content] of contents.entries()) await store.put('ada', record(`m${String(place)}`, content));
  const search = async () => store.findByKeywords({ owner: 'ada', text: 'zebra quagga', narrowing: {}, limit: 100 });
  const alone = await search();
  for (let place = 0; place < 200; place += 1) await store.put('bob', record(`m${String(place)}`, 'zebra one'));
  const beside = await search();
  const idsOfHits = (hits: typeof alone): string[] => hits.map(({ head }) => head.memoryId);
  t.deepEqual(idsOfHits(beside), idsOfHits(alone));
});

async function idsWith(store: MemoryStore, text: string): Promise<string[]> {
  const hits = await store.findByKeywords({ owner: 'anon', text, narrowing: {}, limit: 100 });
  return hits.map(({ head }) => head.memoryId).sort();
}

const idsOf = (known: ReadonlyMap<string, string>, content: string): string[] =>
  [...known].flatMap(([id, its]) => (its === content ? [id] : [])).sort();

test('a file whose index has the terms of another version gets a new index, while memories are put', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'terms-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'memory.sqlite');
  {
    await using store = openSqliteMemoryStore({ path, embedder });
    for (let place = 0; place < 700; place += 1) await store.put('anon', record(`m${String(place)}`, '我对花生过敏'));
    await idsWith(store, '花生');
  }
  const old = new DatabaseSync(path);
  old.exec(`UPDATE indexed SET terms = 1; INSERT INTO memory_terms (memory_terms) VALUES ('delete-all');
    INSERT INTO memory_terms (rowid, terms) SELECT seq, 'old' FROM memories`);
  old.close();
  await using store = openSqliteMemoryStore({ path, embedder });
  await store.put('anon', record('new', '花生酱'));
  await store.remove('anon', ['m0']);
  const hits = await store.findByKeywords({ owner: 'anon', text: '花生', narrowing: {}, limit: 1000 });
  t.is(hits.length, 700);
});
