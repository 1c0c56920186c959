import test, { type ExecutionContext } from 'ava';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import type { MemoryRecord } from '@agent-workflow/memory/ports/memory';
import { toUnit, vectorToJson } from '@agent-workflow/memory/vectors/unit';
import { within } from '@agent-workflow/protos/call';
import { until } from '../until.ts';
import { newPrefix, openTestStore, type WeaviateTestStore } from '../servers/weaviate-collections.ts';
import type { Private } from '../servers/real.ts';
import { privateWeaviate, type Weaviate } from '../servers/weaviate.ts';
import { withFaultsOf } from './suite.ts';
import { byLoad } from '../by-load.ts';

const embedder = hashEmbedder;
const owner = 'u:ada';
const memoryCount = 1500;

async function toMemory(memoryId: string): Promise<MemoryRecord> {
  const content = `${memoryId} is what it is about`;
  const [given = new Float32Array()] = await embedder.embed([content], within(1000));
  const vector = toUnit(given);
  const rest = { memoryType: 'semantic' as const, category: 'notes', threadId: '', timestamp: Date.now() };
  return { ...rest, memoryId, content, metadataJson: Buffer.from('{}'), vector, vectorJson: vectorToJson(vector) };
}

const nearest = ({ vector }: Pick<MemoryRecord, 'vector'>) =>
  ({ owner, narrowing: {}, limit: 1, vector, measure: 'dot', order: 'nearest' }) as const;

/** Ids of those memories that a search for their own vector does not find. */
async function missing(store: WeaviateTestStore, memories: readonly MemoryRecord[]): Promise<string[]> {
  const ids: string[] = [];
  const rest = memories.values();
  const check = async (): Promise<void> => {
    for (const { memoryId, vector } of rest) {
      const [near] = await store.findByVector(nearest({ vector }));
      if (near?.head.memoryId !== memoryId) ids.push(memoryId);
    }
  };
  await Promise.all([check(), check(), check(), check()]);
  return ids;
}

interface Repair {
  readonly searchedAfterMs: number;
  readonly wholeAfterMs: number;
  readonly putAgain: readonly number[];
}

/** Kills Weaviate under so many replicas, each of which has written, and gives what the repair took. */
async function killUnder(t: ExecutionContext, replicas: number, server: Private<Weaviate>): Promise<Repair> {
  const { url, kill, restart } = server;
  const putAgain: number[] = [];
  const prefix = newPrefix();
  await using opened = new AsyncDisposableStack();
  const open = async (): Promise<WeaviateTestStore> =>
    opened.use(await openTestStore({ url, embedder, prefix, onRepair: (count) => putAgain.push(count) }));
  const stores = await Promise.all(Array.from({ length: replicas }, open));
  const first = stores[0] as WeaviateTestStore;
  await Promise.all(stores.map(async (store) => store.untilComplete()));
  const memories = await Promise.all(Array.from({ length: memoryCount }, async (_, n) => toMemory(`m${n}`)));
  await first.load(memories.map((memory) => ({ owner, memory })));
  putAgain.length = 0;
  await kill();
  await until(() => stores.every((store) => store.incompleteSince() !== undefined));
  await restart();

  const started = performance.now();
  const took = (): number => Math.round(performance.now() - started);
  const probe = memories.at(-1) as MemoryRecord;
  const [near] = await first.findByVector({ ...nearest(probe), limit: 5 });
  t.truthy(near, 'a search answers while the index is repaired');
  const searchedAfterMs = took();
  await until(() => stores.every((store) => store.incompleteSince() === undefined), { timeoutMs: 60_000 });
  const wholeAfterMs = took();
  t.deepEqual(await missing(first, memories.slice(-200)), []);
  return { searchedAfterMs, wholeAfterMs, putAgain };
}

withFaultsOf(test, privateWeaviate(), (server) => {
  test.serial(
    'a killed Weaviate is searched at once, and its index is whole no later with three replicas than with one',
    async (t) => {
      t.timeout(byLoad(180_000));
      const repairs: Repair[] = [];
      for (const replicas of [1, 3]) {
        const repair = await killUnder(t, replicas, await server());
        const { searchedAfterMs, wholeAfterMs, putAgain } = repair;
        t.log(
          `${replicas} replicas: searched after ${searchedAfterMs} ms, whole after ${wholeAfterMs} ms, put again ${putAgain.join(' + ')}`,
        );
        const sum = putAgain.reduce((all, count) => all + count, 0);
        t.true(sum >= memoryCount && sum < memoryCount * 1.1, `each memory is put again once, not ${sum}`);
        repairs.push(repair);
      }
      const [one = 0, three = Infinity] = repairs.map(({ wholeAfterMs }) => wholeAfterMs);
      t.true(three <= one * 1.5 + 3000, `${three} ms with three replicas, ${one} ms with one`);
    },
  );
});
