import { END, START, StateGraph } from '@agent-workflow/graph';

/** Answers; where `config.gates` has addresses, it waits at each of them and then emits a text. */
export const graph = new StateGraph({})
  .addNode('answer', async (_state, { config, emit, signal }) => {
    const gates = Array.isArray(config['gates']) ? config['gates'] : [];
    for (const [index, gate] of gates.entries()) {
      await fetch(String(gate), { signal });
      emit(`text ${String(index)}.`);
    }
    return { messages: [{ role: 'assistant', content: 'an answer' }] };
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();
