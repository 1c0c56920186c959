import { END, START, StateGraph, field } from '@agent-workflow/graph';

/** How many messages a run of this agent has, and their texts in bytes: each makes two events of that size. */
export const boulders = 4;
export const boulderBytes = 1_990_000;

/** Writes messages that are nearly as large as one may be. */
export const graph = new StateGraph({
  round: field<number>({ type: 'number', description: 'Rounds so far', default: 0 }),
})
  .addNode('write', (state, { emit }) => {
    emit('x'.repeat(boulderBytes));
    return { round: state.round + 1 };
  })
  .addEdge(START, 'write')
  .addConditionalEdges('write', (state) => (state.round < boulders ? 'write' : END))
  .compile();
