import { END, START, StateGraph } from '@agent-workflow/graph';

/** Says which process it runs in: how tests see the worker of a run. */
export const graph = new StateGraph({})
  .addNode('say', (_state, { emit }) => {
    emit(String(process.pid));
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
