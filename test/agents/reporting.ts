import { END, modelNode, START, StateGraph, textOf, type Model } from '@agent-workflow/graph';

const model: Model = {
  async *answer({ messages }) {
    const last = messages.at(-1);
    yield { type: 'text', text: await Promise.resolve(`you said ${last ? textOf(last) : 'nothing'}`) };
    yield { type: 'usage', model: 'large', inputTokens: 100, outputTokens: 10 };
  },
};

/** Asks a model that counts 100 and 10 tokens, then reports those of two models, and fails when the user says `fail`. */
export const graph = new StateGraph({})
  .addNode('ask', modelNode({ model }))
  .addNode('check', ({ context }, { usage }) => {
    usage({ model: 'small', inputTokens: 5, outputTokens: 1, finishReason: 'length' });
    usage({ model: 'large', inputTokens: 20, outputTokens: 2, finishReason: 'stop' });
    if (context.some((message) => textOf(message) === 'fail')) throw new Error('told to');
  })
  .addEdge(START, 'ask')
  .addEdge('ask', 'check')
  .addEdge('check', END)
  .compile();
