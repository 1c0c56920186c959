import { END, START, StateGraph } from '@agent-workflow/graph';

/** Answers; where `config.gate` has an address, it emits two texts, and waits there before and after the second. */
export const graph = new StateGraph({})
  .addNode('answer', async (_state, { config, emit, signal }) => {
    const { gate, after } = config;
    if (typeof gate !== 'string' || typeof after !== 'string')
      return { messages: [{ role: 'assistant', content: 'an answer' }] };
    emit('the first');
    await fetch(gate, { signal });
    emit('the second');
    await fetch(after, { signal });
    return {};
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();
