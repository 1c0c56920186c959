import { END, START, StateGraph, field, textOf } from '@agent-workflow/graph';

/** Repeats what it was told, and counts how often. */
export const graph = new StateGraph({
  turns: field<number>({ type: 'number', description: 'Turns so far', default: 0, reducer: (sum, more) => sum + more }),
})
  .addNode('echo', ({ context }, { emit }) => {
    const said = context.at(-1);
    emit('you said ');
    emit(said ? textOf(said) : 'nothing');
    return { turns: 1 };
  })
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();
