import { END, lastUserText, START, StateGraph } from '@agent-workflow/graph';

/** Repeats the last message. */
export const graph = new StateGraph({})
  .addNode('echo', (state, { emit }) => emit(`You wrote: ${lastUserText(state)}`))
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();
