import { END, field, START, StateGraph, textOf } from '@agent-workflow/graph';

function block(): never {
  for (;;);
}

/**
 * Says which process it runs in: how tests see the worker of a run. Its reducer notes the process that it ran in. Told to `block`, node and
 * reducer block it.
 */
export const graph = new StateGraph({
  pids: field<number[]>({
    type: 'array',
    default: [],
    reducer: (pids, what) => (String(what) === 'block' ? block() : [...pids, process.pid]),
  }),
})
  .addNode('say', ({ context }, { emit }) => {
    const last = context.at(-1);
    if (last && textOf(last) === 'block') block();
    emit(String(process.pid));
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
