import test, { type ExecutionContext } from 'ava';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { createMemories } from '@agent-workflow/memory/memories';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { within } from '@agent-workflow/protos/call';
import { byLoad } from '../by-load.ts';
import { withServer } from '../servers/real-suite.ts';
import { openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { dialogues } from './memory-languages/dialogue.ts';
import { measureRecall } from './memory-languages/recall.ts';

const embedder = hashEmbedder;

test('facts in ten languages are found by questions: SQLite', async (t) => {
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder });
  await holdRecall(t, store);
});

withServer(test, weaviate, (server) => {
  test('facts in ten languages are found by questions: Weaviate', async (t) => {
    const { url } = await server();
    await using store = await openTestStore({ url, embedder });
    await holdRecall(t, store);
  });
});

async function holdRecall(t: ExecutionContext, store: MemoryStore): Promise<void> {
  const recall = await measureRecall(createMemories({ store, embedder, halfLifeDays: 30 }), within(byLoad(120_000)));
  for (const [way, { at1, at5, byLanguage }] of Object.entries(recall))
    t.log(way.padEnd(12), at1.toFixed(2), at5.toFixed(2), JSON.stringify(byLanguage).replaceAll('"', ''));
  t.is(Object.keys(dialogues).length, 10);
  t.true((recall['keywords']?.at1 ?? 0) >= 0.95, 'keywords at 1');
  t.true((recall['keywords']?.at5 ?? 0) >= 0.98, 'keywords at 5');
  t.true((recall['hybrid']?.at1 ?? 0) >= 0.9, 'hybrid at 1');
  t.true((recall['hybrid']?.at5 ?? 0) >= 0.98, 'hybrid at 5');
  t.true((recall['similarity']?.at5 ?? 0) >= 0.85, 'similarity at 5');
}
