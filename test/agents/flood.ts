import { END, START, StateGraph, field } from '@agent-workflow/graph';

/** How many rounds a run of this agent has, and what it says in each, in bytes. */
export const rounds = 16;
export const roundBytes = 1024 * 1024;
const chunks = 64;

/** Says more than any buffer should hold. */
export const graph = new StateGraph({
  round: field<number>({ type: 'number', description: 'Rounds so far', default: 0 }),
})
  .addNode('flood', (state, { emit }) => {
    for (let chunk = 0; chunk < chunks; chunk++) emit('x'.repeat(roundBytes / chunks));
    return { round: state.round + 1 };
  })
  .addEdge(START, 'flood')
  .addConditionalEdges('flood', (state) => (state.round < rounds ? 'flood' : END))
  .compile();
