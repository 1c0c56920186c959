import type { ExecutionContext } from 'ava';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { createMemories } from '@agent-workflow/memory/memories';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { within } from '@agent-workflow/protos/call';
import { byLoad } from '../../by-load.ts';
import { documentsOf, scope } from './documents.ts';
import { loadAtOnce } from './load.ts';
import { recallOf, storeOwn } from './recall.ts';

interface Size {
  readonly documents: number;
  readonly owners: number;
  readonly queries: number;
}

/**
 * Documents that five processes load at the same moment, of which two die, are stored once; searches of them and of what each owner has find what a
 * comparison with every vector finds. `stores` are of the same memories: each has a service of its own.
 */
export async function knowledgeHolds(t: ExecutionContext, stores: readonly MemoryStore[], size: Size): Promise<void> {
  const services = stores.map((store) => createMemories({ store, embedder: hashEmbedder, halfLifeDays: 30 }));
  const [memory] = services;
  const [store] = stores;
  if (!memory || !store) return t.fail();
  const call = within(byLoad(1_200_000));
  const began = performance.now();
  t.is(await loadAtOnce(services, size.documents), 3);
  const loaded = performance.now();
  const documents = documentsOf(size.documents);
  const contents: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = { selection: {}, limit: 1000, offset: 0, ...(cursor !== undefined && { cursor }) };
    const list = await memory.list({ owner: 'u:ada', scope, ...page }, call);
    t.is(list.total, size.documents);
    contents.push(...list.memories.map(({ content }) => content));
    ({ cursor } = list);
    if (cursor === undefined) break;
  }
  t.deepEqual(contents.sort(), documents.map(({ content }) => content).sort());
  const ground = { store, memory, embedder: hashEmbedder, call };
  const own = await storeOwn(
    ground,
    Array.from({ length: size.owners }, (_, at) => `u:owner ${String(at)}`),
  );
  const searched = performance.now();
  const recall = await recallOf(ground, { documents, own, queries: size.queries });
  const seconds = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`;
  t.log(
    `${String(size.documents)} documents loaded by five in ${seconds(began, loaded)}; ${String(size.queries)} searches in ` +
      `${seconds(searched, performance.now())}, recall ${recall.toFixed(4)}`,
  );
  t.true(recall >= 0.99, String(recall));
}
