import { START, StateGraph, field } from '@agent-workflow/graph';

/** Adds no message: what its runs end with is the context that they found, and their input. */
export const graph = new StateGraph({
  turns: field<number>({ type: 'number', description: 'Runs so far', default: 0 }),
})
  .addNode('count', ({ turns }) => ({ turns: turns + 1 }))
  .addEdge(START, 'count')
  .compile();
