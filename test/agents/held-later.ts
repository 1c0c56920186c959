import { END, START, StateGraph, field } from '@agent-workflow/graph';

const inner = new StateGraph({})
  .addNode('shallow', (_state, { emit }) => emit('inside'))
  .addEdge(START, 'shallow')
  .compile();

/** What `held` has become: it asks nobody any more, neither itself nor in its sub-graph. */
export const graph = new StateGraph({ steps: field<number>({ type: 'number', default: 0 }) })
  .addNode('inner', inner)
  .addEdge(START, 'inner')
  .addEdge('inner', END)
  .compile();
