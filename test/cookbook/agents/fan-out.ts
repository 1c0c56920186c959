import { field, START, StateGraph } from '@agent-workflow/graph';

/** Two branches run side by side, one of them in two steps; the report waits for both. */
export const graph = new StateGraph({
  found: field<readonly string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
})
  .addNode('news', () => ({ found: ['two articles'] }))
  .addNode('papers', () => ({ found: ['one paper'] }))
  .addNode('summaries', ({ found }) => ({ found: [`the summary of ${String(found.at(-1))}`] }))
  .addNode('report', ({ found }, { emit }) => emit(`Found ${found.join(', ')}.`))
  .addEdge(START, 'news')
  .addEdge(START, 'papers')
  .addEdge('papers', 'summaries')
  .addEdge(['news', 'summaries'], 'report')
  .compile();
