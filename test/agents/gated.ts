import { END, START, StateGraph, field, textOf } from '@agent-workflow/graph';

/** Says one thing, then waits at the address in `config.gate`, or at that which the message is, before it says the other. */
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
  .addNode('after', async ({ context }, { config, signal, emit }) => {
    const { gate } = config;
    const asked = context.findLast(({ role }) => role === 'user');
    await fetch(typeof gate === 'string' ? gate : textOf(asked ?? { content: [] }), { signal });
    emit('after the gate');
    return { steps: 1 };
  })
  .addEdge(START, 'before')
  .addEdge('before', 'after')
  .addEdge('after', END)
  .compile();
