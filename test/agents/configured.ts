import { END, START, StateGraph } from '@agent-workflow/graph';

/** Answers with the config and the context of its run, as JSON. */
export const graph = new StateGraph({})
  .addNode('configured', (_state, { config, context, emit }) => {
    emit(JSON.stringify({ config, context }));
  })
  .addEdge(START, 'configured')
  .addEdge('configured', END)
  .compile();
