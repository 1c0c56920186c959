import { END, field, START, StateGraph } from '@agent-workflow/graph';

function block(): never {
  for (;;);
}

/** Says which process it runs in: how tests see the worker of a run. Its reducer notes the process that it ran in, or blocks it. */
export const graph = new StateGraph({
  pids: field<number[]>({
    type: 'array',
    default: [],
    reducer: (pids, what) => (String(what) === 'block' ? block() : [...pids, process.pid]),
  }),
})
  .addNode('say', (_state, { emit }) => {
    emit(String(process.pid));
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
