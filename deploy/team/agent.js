import { END, START, StateGraph } from '@agent-workflow/graph';

/** Answers every message with the same text. Your model and your tools take the place of the node. */
export const graph = new StateGraph({})
  .addNode('answer', (_state, { emit }) => emit('The support team has your message.'))
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();
