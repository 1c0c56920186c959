import test from 'ava';
import { copyMemories } from './copy.ts';
import type { Embedder } from '../ports/embedder.ts';
import type { OwnedMemory } from '../ports/memory.ts';

const owned = (memoryId: string): OwnedMemory => ({
  owner: 'u:ada',
  memory: {
    ...{ memoryId, content: memoryId, memoryType: 'semantic', category: '', threadId: '', timestamp: 1 },
    ...{ metadataJson: Buffer.from('{}'), vectorJson: Buffer.from('[1,0]'), vector: Float32Array.of(1, 0) },
  },
});

async function* given(...ids: readonly string[]): AsyncGenerator<OwnedMemory> {
  for (const id of ids) yield await Promise.resolve(owned(id));
}

const embedderOf = (vectorOf: (text: string) => number[]): Embedder => ({
  model: 'another',
  dimension: 2,
  embed: async (texts) => Promise.resolve(texts.map((text) => Float32Array.from(vectorOf(text)))),
});

test('a copy with another embedder has unit vectors of that embedder, and the same texts', async (t) => {
  const loaded: OwnedMemory[] = [];
  const copied = await copyMemories({
    from: given('a', 'b'),
    load: async (memories) => Promise.resolve(loaded.push(...memories)),
    embedder: embedderOf((text) => (text === 'a' ? [3, 4] : [0, 2])),
    onProgress: () => undefined,
  });
  t.deepEqual(copied, { read: 2, added: 2 });
  t.deepEqual(
    loaded.map(({ memory }) => [memory.content, ...memory.vector]),
    [
      ['a', Math.fround(0.6), Math.fround(0.8)],
      ['b', 0, 1],
    ],
  );
});

for (const [what, vector] of [
  ['no vector', undefined],
  ['a vector of another dimension', [1, 2, 3]],
  ['something that is no number', [1, NaN]],
] as const)
  test(`a copy ends where the embedder gives ${what}, and loads nothing of that batch`, async (t) => {
    const embedder: Embedder = {
      ...embedderOf(() => [1, 0]),
      embed: async (texts) => Promise.resolve(texts.flatMap(() => (vector ? [Float32Array.from(vector)] : []))),
    };
    let loads = 0;
    const copying = copyMemories({
      from: given('a'),
      load: async () => Promise.resolve(++loads),
      embedder,
      onProgress: () => undefined,
    });
    await t.throwsAsync(copying, { name: 'Invalid', message: /^content: the embedder gave / });
    t.is(loads, 0);
  });
