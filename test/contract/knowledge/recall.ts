import type { Embedder } from '@agent-workflow/memory/ports/embedder';
import type { OwnedMemory } from '@agent-workflow/memory/ports/memory';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { vectorToJson } from '@agent-workflow/memory/vectors/unit';
import { embedTexts } from '@agent-workflow/memory/embedders/embedding';
import { eachOf } from '@agent-workflow/kit/each';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Call } from '@agent-workflow/protos/call';
import { randomOf, scope, textOf, type SharedDocument } from './documents.ts';

interface Known {
  readonly owner: string;
  readonly content: string;
  readonly vector: Float32Array;
}

const ownEach = 3;
const ownersAtOnce = 8;
const limit = 10;
/** Scores that differ by no more are equal. */
const tie = 1e-5;

interface Ground {
  readonly store: MemoryStore;
  readonly memory: Memory;
  readonly embedder: Embedder;
  readonly call: Call;
}

const embed = async ({ embedder, call }: Ground, texts: readonly string[]): ReturnType<typeof embedTexts> =>
  embedTexts(embedder, { texts, field: ['content'] }, call);

/** Gives each of the owners a few memories of its own. */
export async function storeOwn(ground: Ground, owners: readonly string[]): Promise<readonly Known[]> {
  const random = randomOf(11);
  const own: Known[] = [];
  for (const owner of owners) {
    const texts = Array.from({ length: ownEach }, () => textOf(random));
    const vectors = await embed(ground, texts);
    own.push(...texts.map((content, at) => ({ owner, content, vector: vectors[at] ?? new Float32Array() })));
  }
  const records = own.map(({ owner, content, vector }, at): OwnedMemory => {
    const fields = { memoryId: `own-${String(at)}`, memoryType: 'semantic', category: 'own', threadId: '' } as const;
    const texts = { metadataJson: Buffer.from('{}'), vectorJson: vectorToJson(vector), content };
    return { owner, memory: { ...fields, ...texts, timestamp: at, vector } };
  });
  await ground.store.load(records);
  return own;
}

/**
 * The share of what a comparison with every vector has among its first ten that searches of the documents and of the owner's own find, over queries of many
 * owners; results that score as the tenth count alike.
 */
export async function recallOf(
  ground: Ground,
  {
    documents,
    own,
    queries,
  }: { readonly documents: readonly SharedDocument[]; readonly own: readonly Known[]; readonly queries: number },
): Promise<number> {
  const vectors = await embed(
    ground,
    documents.map(({ content }) => content),
  );
  const shared = documents.map(({ content }, at): Known => ({
    owner: '',
    content,
    vector: vectors[at] ?? new Float32Array(),
  }));
  const owners = [...new Set(own.map(({ owner }) => owner))];
  const random = randomOf(13);
  const asked = Array.from({ length: queries }, (_, at) => ({
    owner: owners[at % owners.length] ?? '',
    // Every third is about something that its owner has.
    query: at % 3 === 0 ? (own[(at % owners.length) * ownEach]?.content ?? '') : textOf(random, 6),
  }));
  let [found, wanted] = [0, 0];
  await eachOf(asked, ownersAtOnce, async ({ owner, query }) => {
    const [vector = new Float32Array()] = await embed(ground, [query]);
    const all = [...shared, ...own.filter((each) => each.owner === owner)];
    const scores = all
      .map((each) => scoreOf(vector, each.vector))
      .sort((a, b) => b - a)
      .slice(0, limit);
    const least = (scores.at(-1) ?? 0) - tie;
    const request = { owner, query, scopes: ['own', scope], selection: {}, limit, scoreThreshold: 0, maxTokens: 1e6 };
    const ways = { retrievalStrategy: 'similarity', distanceMetric: 'cosine' } as const;
    const { results } = await ground.memory.search({ ...request, ...ways }, ground.call);
    wanted += scores.length;
    found += results.filter(({ score }) => score >= least).length;
  });
  return found / wanted;
}

/** The score of cosine on vectors of unit length. */
const scoreOf = (a: Float32Array, b: Float32Array): number =>
  (1 + a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)) / 2;
