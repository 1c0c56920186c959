import { DeadlinePassed, END, field, interrupt, START, StateGraph, textOf } from '@agent-workflow/graph';

/** Asks as the last message says, in JSON: `deadline` in milliseconds, `default`, and how many `nodes` ask side by side. Says what it was answered. */
interface Asking {
  readonly deadline?: number;
  readonly default?: unknown;
}

export const graph = new StateGraph({
  answers: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
})
  .addNode('ask', ({ context }, { emit }) => {
    const first = context.find(({ role }) => role === 'user');
    const asking = JSON.parse(first ? textOf(first) : '{}') as Asking;
    try {
      const answer = interrupt('Send it?', asking);
      emit(`answer: ${JSON.stringify(answer)}`);
      return { answers: [answer] };
    } catch (error) {
      if (!(error instanceof DeadlinePassed)) throw error;
      emit('nobody answered');
      return { answers: [] };
    }
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();
