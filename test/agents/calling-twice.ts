import { END, START, StateGraph, callsTools, toolNode } from '@agent-workflow/graph';

/** Calls `look` and `listen` at once, and says when it has both results. */
export const graph = new StateGraph({})
  .addNode('ask', (state, { emit }) => {
    if (state.context.at(-1)?.role === 'tool') {
      emit('both are there');
      return;
    }
    for (const name of ['look', 'listen']) emit({ type: 'tool_call', id: `call-${name}`, name, args: {} });
  })
  .addNode('tools', toolNode([]))
  .addEdge(START, 'ask')
  .addConditionalEdges('ask', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'ask')
  .compile();
