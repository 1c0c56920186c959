import { END, START, StateGraph } from '@agent-workflow/graph';

/** Says which process it is in, waits at the address in `config.gate`, and says it again: a test knows whom to kill. */
export const graph = new StateGraph({})
  .addNode('before', (_state, { emit }) => emit(String(process.pid)))
  .addNode('gate', async (_state, { config, signal }) => {
    await fetch(String(config['gate']), { signal });
  })
  .addNode('after', (_state, { emit }) => emit(String(process.pid)))
  .addEdge(START, 'before')
  .addEdge('before', 'gate')
  .addEdge('gate', 'after')
  .addEdge('after', END)
  .compile();
