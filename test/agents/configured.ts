import { END, START, StateGraph } from '@agent-workflow/graph';

/** Answers with the config and the context of its run, as JSON, once the address in `config.gate` has answered, if there is one. */
export const graph = new StateGraph({})
  .addNode('gate', async (_state, { config: { gate }, signal }) => {
    if (typeof gate === 'string') await fetch(gate, { signal });
  })
  .addNode('configured', (_state, { config, context, emit }) => {
    emit(JSON.stringify({ config, context }));
  })
  .addEdge(START, 'gate')
  .addEdge('gate', 'configured')
  .addEdge('configured', END)
  .compile();
