import { field, START, StateGraph, textOf } from '@agent-workflow/graph';

const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** Two nodes of one step write the same fields; the reducer of each field makes one value of both. */
export const graph = new StateGraph({
  total: field<number>({ type: 'integer', default: 0, reducer: (sum, more) => sum + more }),
  longest: field<string>({ type: 'string', default: '', reducer: (a, b) => (b.length > a.length ? b : a) }),
  words: field<readonly string[]>({ type: 'array', default: [], reducer: (a, b) => [...new Set([...a, ...b])] }),
})
  .addNode('question', ({ context }) => count(wordsOf(context.map(textOf).at(-1) ?? '')))
  .addNode('history', ({ context }) => count(context.slice(0, -1).flatMap((message) => wordsOf(textOf(message)))))
  .addEdge(START, 'question')
  .addEdge(START, 'history')
  .compile();

const count = (words: readonly string[]) => ({
  total: words.length,
  longest: words.reduce((a, b) => (b.length > a.length ? b : a), ''),
  words,
});
