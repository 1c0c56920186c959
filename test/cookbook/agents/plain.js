import { field, START, StateGraph } from '@agent-workflow/graph';

/** Counts the turns of its thread. Plain JavaScript: no types, no build. */
export const graph = new StateGraph({
  turns: field({ type: 'integer', default: 0, reducer: (before, more) => before + more }),
})
  .addNode('count', () => ({ turns: 1 }))
  .addNode('answer', ({ turns }, { emit }) => emit(`Turn ${turns}.`))
  .addEdge(START, 'count')
  .addEdge('count', 'answer')
  .compile();
