import { END, START, StateGraph, field, textOf } from '@agent-workflow/graph';

/** Sleeps as many milliseconds as the last message says, and then says so. */
export const graph = new StateGraph({
  naps: field<number>({ type: 'integer', default: 0, reducer: (before, more) => before + more }),
})
  .addNode('nap', async ({ context }, { sleep, emit }) => {
    const last = context.at(-1);
    await sleep(Number(last ? textOf(last) : 0));
    emit('awake');
    return { naps: 1 };
  })
  .addEdge(START, 'nap')
  .addEdge('nap', END)
  .compile();
