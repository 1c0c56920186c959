import { END, START, StateGraph, field, interrupt } from '@agent-workflow/graph';

/**
 * Asks a person two things, one after the other, beside a branch that asks nothing, and joins both. Between them it waits at the address in
 * `config.gate`. The colour `none` fails it.
 */
export const graph = new StateGraph({
  answers: field<readonly unknown[]>({
    type: 'array',
    description: 'What was answered',
    default: [],
    reducer: (all, more) => [...all, ...more],
  }),
})
  .addNode('ask', async (_state, { config, signal, emit }) => {
    const name = interrupt({ question: 'What is your name?' });
    const { gate } = config;
    if (typeof gate === 'string') await fetch(gate, { signal });
    const colour = interrupt({ question: 'What colour?' });
    if (colour === 'none') throw new Error('there is no such colour');
    emit(`${String(name)} likes ${String(colour)}`);
    return { answers: [name, colour] };
  })
  .addNode('beside', (_state, { emit }) => {
    emit('beside');
  })
  .addNode('both', (_state, { emit }) => {
    emit('both are done');
  })
  .addEdge(START, 'ask')
  .addEdge(START, 'beside')
  .addEdge(['ask', 'beside'], 'both')
  .addEdge('both', END)
  .compile();
