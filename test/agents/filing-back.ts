import { END, START, StateGraph } from '@agent-workflow/graph';

/** Gives back what its user sent: each block as it stands, and what it counts as data. */
export const graph = new StateGraph({})
  .addNode('back', ({ context }, { emit }) => {
    const blocks = context.at(-1)?.content ?? [];
    for (const block of blocks) emit(block);
    emit({ type: 'data', data: { blocks: blocks.length } });
  })
  .addEdge(START, 'back')
  .addEdge('back', END)
  .compile();
