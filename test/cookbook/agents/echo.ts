import { END, START, StateGraph, textOf } from '@agent-workflow/graph';

/** Repeats the last message. */
export const graph = new StateGraph({})
  .addNode('echo', ({ context }, { emit }) => emit(`You wrote: ${context.map(textOf).at(-1) ?? ''}`))
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();
