import { END, START, StateGraph, field, textOf } from '@agent-workflow/graph';

/** Repeats what it was told, and counts how often. */
export const graph = new StateGraph({
  turns: field<number>({ type: 'number', description: 'Turns so far', default: 0, reducer: (sum, more) => sum + more }),
})
  .addNode('echo', ({ context }, { emit }) => {
    const last = context.at(-1);
    emit('you said ');
    emit(last ? textOf(last) : 'nothing');
    return { turns: 1 };
  })
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();
