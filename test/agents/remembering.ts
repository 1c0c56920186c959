import { END, START, StateGraph, callsTools, tool, toolNode } from '@agent-workflow/graph';

const search = tool(
  { name: 'look', description: 'Looks in the memory', parameters: { type: 'object', properties: {} } },
  async (_args, { memory }) => (await memory.search('what was said')).map(({ content }) => content),
);

/** Keeps what was said in its memory, looks for it with a tool, and says that it is there. */
export const graph = new StateGraph({})
  .addNode('keep', async (state, { memory, emit }) => {
    if (state.context.at(-1)?.role === 'tool') {
      emit('It is there.');
      return;
    }
    await memory.store({ content: 'this was said' });
    emit({ type: 'tool_call', id: 'call-1', name: 'look', args: {} });
  })
  .addNode('tools', toolNode([search]))
  .addEdge(START, 'keep')
  .addConditionalEdges('keep', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'keep')
  .compile();
