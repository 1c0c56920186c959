import { callsTools, END, remoteTool, START, StateGraph, toolNode } from '@agent-workflow/graph';

const locate = remoteTool({ name: 'locate', description: 'Where the user is.', parameters: { type: 'object' } });

/** Asks the caller where he is, and says what came back. */
export const graph = new StateGraph({})
  .addNode('ask', (state, { emit }) => {
    const last = state.context.at(-1);
    if (last?.role === 'tool') emit(JSON.stringify(last.content[0]?.['output']));
    else emit({ type: 'tool_call', id: crypto.randomUUID(), name: 'locate', args: { precise: true } });
  })
  .addNode('tools', toolNode([locate]))
  .addEdge(START, 'ask')
  .addConditionalEdges('ask', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'ask')
  .compile();
