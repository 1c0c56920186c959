import { END, START, StateGraph, field } from '@agent-workflow/graph';

/** Says one thing, then waits at the address in `config.gate` before it says the other. */
export const graph = new StateGraph({
  steps: field<number>({
    type: 'number',
    description: 'Steps committed',
    default: 0,
    reducer: (sum, more) => sum + more,
  }),
})
  .addNode('before', (_state, { emit }) => {
    emit('before the gate');
    return { steps: 1 };
  })
  .addNode('after', async (_state, { config, signal, emit }) => {
    await fetch(String(config['gate']), { signal });
    emit('after the gate');
    return { steps: 1 };
  })
  .addEdge(START, 'before')
  .addEdge('before', 'after')
  .addEdge('after', END)
  .compile();
