import test from 'ava';
import { readEnv } from '@agent-workflow/kit/env';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { stemOf } from '@agent-workflow/memory/words/stems';
import { within } from '@agent-workflow/protos/call';
import type { RetrievalStrategy } from '@agent-workflow/protos/lists';
import type { Memory } from '@agent-workflow/protos/memory';
import { startOpenaiEmbeddings } from '../servers/openai-embeddings.ts';
import { paraphrases, synonyms } from './memory-paraphrases.ts';
import { byLoad } from '../by-load.ts';

const owner = 'u:ada';
const call = within(byLoad(120_000));

/** Share of the questions whose fact is among the first five. */
async function hitsAtFive(
  memory: Memory,
  retrievalStrategy: RetrievalStrategy,
  asked: readonly (1 | 2)[],
): Promise<number> {
  const questions = paraphrases.flatMap((each) => asked.map((which) => [each[0], each[which]] as const));
  const hits = await Promise.all(
    questions.map(async ([fact, query]) => {
      const { results } = await memory.search(
        {
          ...{ owner, query, retrievalStrategy, selection: {}, limit: 5, scoreThreshold: 0, maxTokens: 1e6 },
          distanceMetric: 'cosine',
        },
        call,
      );
      return results.some(({ content }) => content === fact);
    }),
  );
  return hits.filter(Boolean).length / hits.length;
}

async function storeFacts(memory: Memory): Promise<void> {
  for (const [place, [content]] of paraphrases.entries()) {
    const memoryId = `f${String(place).padStart(3, '0')}`;
    const rest = { memoryType: 'semantic' as const, category: 'facts', metadataJson: Buffer.from('{}') };
    await memory.store({ owner, memoryId, content, ...rest }, call);
  }
}

interface Row {
  readonly all: number;
  readonly near: number;
  readonly far: number;
}

async function measure(memory: Memory, strategy: RetrievalStrategy): Promise<Row> {
  const [all, near, far] = await Promise.all(
    ([[1, 2], [1], [2]] as const).map((asked) => hitsAtFive(memory, strategy, asked)),
  );
  return { all: all ?? 0, near: near ?? 0, far: far ?? 0 };
}

const rowText = (name: string, { all, near, far }: Row): string =>
  [name.padEnd(26), ...[all, near, far].map((share) => share.toFixed(3).padStart(8))].join('');

test('facts are found by questions that say them otherwise, and hybrid finds as many as any', async (t) => {
  t.true(paraphrases.length >= 60);
  await using server = await startOpenaiEmbeddings({ dimension: vectorSize, vectorOf: embedMeaning });
  const env = {
    EMBEDDINGS_PROVIDER: 'openai',
    EMBEDDINGS_BASE_URL: server.url,
    EMBEDDINGS_MODEL: 'thesaurus',
    EMBEDDINGS_DIMENSION: String(vectorSize),
  };
  const rows: string[] = [
    `hit@5 of ${String(paraphrases.length * 2)} questions`.padEnd(26) + '     all    near     far',
  ];
  const found = new Map<string, Row>();
  for (const [embedder, settings] of [
    ['hash', {}],
    ['thesaurus', env],
  ] as const) {
    await using opened = await openMemory({ path: ':memory:', values: readEnv(memorySettings, settings) });
    await storeFacts(opened.memory);
    for (const strategy of ['similarity', 'hybrid'] as const) {
      const row = await measure(opened.memory, strategy);
      found.set(`${embedder} ${strategy}`, row);
      rows.push(rowText(`${embedder} ${strategy}`, row));
    }
  }
  t.log(rows.join('\n'));
  const hits = (name: string): Row => found.get(name) ?? { all: 0, near: 0, far: 0 };
  t.true(hits('hash hybrid').near >= 0.95);
  t.true(hits('hash hybrid').all >= hits('hash similarity').all);
  // A question's grammar must not outweigh what an embedder knows of its meaning.
  t.true(hits('thesaurus hybrid').all >= hits('thesaurus similarity').all - 0.02);
});

const vectorSize = 512;
const grammar = new Set(
  'the a an of to in on is are was did does do i my our we it and which what when where who how at by me for'.split(
    ' ',
  ),
);
const stemsOf = (text: string): string[] => (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map(stemOf);
const groups = new Map(
  synonyms.flatMap((words, group) => words.flatMap(stemsOf).map((stem) => [stem, group] as const)),
);

/** Stands in for a model that knows what words mean: each word, and the group of words that mean nearly the same. */
function embedMeaning(text: string): number[] {
  const vector = Array.from({ length: vectorSize }, () => 0);
  const add = (place: number, weight: number): void => {
    vector[place] = (vector[place] ?? 0) + weight;
  };
  for (const stem of stemsOf(text)) {
    if (grammar.has(stem)) continue;
    const hash = Array.from(stem).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 400, 7);
    add(hash, 0.6);
    const group = groups.get(stem);
    if (group !== undefined) add(400 + group, 1);
  }
  return vector.some((value) => value !== 0) ? vector : vector.with(0, 1);
}
