import { END, START, StateGraph } from '@agent-workflow/graph';

/** Answers with all that it is told of the caller and the request, as JSON. */
export const graph = new StateGraph({})
  .addNode('who', (_state, { user, config, emit }) => {
    emit(JSON.stringify({ user, config }));
  })
  .addEdge(START, 'who')
  .addEdge('who', END)
  .compile();
