import type { RetrievalStrategy } from '@agent-workflow/protos/lists';
import type { Memory, SearchRequest } from '@agent-workflow/protos/memory';
import type { Call } from '@agent-workflow/protos/call';
import { dialogues } from './dialogue.ts';

const options = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** What is measured: a strategy, or one half of `hybrid`. */
const ways: Readonly<Record<string, Pick<SearchRequest, 'retrievalStrategy' | 'optionsJson'>>> = {
  similarity: { retrievalStrategy: 'similarity' satisfies RetrievalStrategy },
  hybrid: { retrievalStrategy: 'hybrid' satisfies RetrievalStrategy },
  keywords: { retrievalStrategy: 'hybrid' satisfies RetrievalStrategy, optionsJson: options({ alpha: 0 }) },
};

/** Of the questions of each language, the share whose fact comes first, and the share where it is among the first five. */
interface Recall {
  readonly at1: number;
  readonly at5: number;
  readonly byLanguage: Readonly<Record<string, string>>;
}

/** Each language is an owner, who has its facts alone. */
export async function measureRecall(memory: Memory, call: Call): Promise<Readonly<Record<string, Recall>>> {
  for (const [language, { facts }] of Object.entries(dialogues))
    for (const [place, content] of facts.entries()) {
      const rest = { memoryType: 'semantic' as const, category: 'facts', metadataJson: options({}) };
      await memory.store({ owner: `u:${language}`, memoryId: `f${String(place)}`, content, ...rest }, call);
    }
  const measured = Object.entries(ways).map(
    async ([way, asked]) => [way, await recallOf(memory, asked, call)] as const,
  );
  return Object.fromEntries(await Promise.all(measured));
}

async function recallOf(memory: Memory, asked: (typeof ways)[string], call: Call): Promise<Recall> {
  const byLanguage: Record<string, string> = {};
  let [first, five, all] = [0, 0, 0];
  for (const [language, { facts, questions }] of Object.entries(dialogues)) {
    let [firstHere, fiveHere] = [0, 0];
    for (const [query, fact] of questions) {
      const page = { selection: {}, limit: 5, scoreThreshold: 0, maxTokens: 1e6, distanceMetric: 'cosine' as const };
      const { results } = await memory.search({ owner: `u:${language}`, query, ...page, ...asked }, call);
      const place = results.findIndex(({ content, score }) => score > 0 && content === facts[fact]);
      if (place === 0) firstHere += 1;
      if (place >= 0) fiveHere += 1;
    }
    byLanguage[language] = `${String(firstHere)}/${String(fiveHere)}`;
    [first, five, all] = [first + firstHere, five + fiveHere, all + questions.length];
  }
  return { at1: first / all, at5: five / all, byLanguage };
}
