import {
  callsTools,
  END,
  field,
  interrupt,
  lastUserText,
  START,
  StateGraph,
  tool,
  toolNode,
} from '@agent-workflow/graph';

const stamp = tool(
  { name: 'stamp', description: 'Stamps a paper.', parameters: { type: 'object', properties: {} } },
  () => 'stamped',
);

/**
 * An agent to stand beside `obedient`: its field of the same name replaces where the other one adds. `ask` asks a person, `call look` asks
 * the caller for the tool `look`; anything else is said back.
 */
export const graph = new StateGraph({
  notes: field<readonly string[]>({ type: 'array', description: 'The newest notes', default: ['blank'] }),
})
  .addNode('write', (state, { emit }) => {
    const [order, operand = ''] = lastUserText(state).split(' ');
    if (state.context.at(-1)?.role === 'tool') emit('the clerk thanks');
    else if (order === 'call') emit({ type: 'tool_call', id: 'call-1', name: operand, args: {} });
    else if (order === 'ask') emit(`the clerk heard ${String(interrupt('Go on?'))}`);
    else emit(`the clerk wrote ${lastUserText(state)}`);
  })
  .addNode('tools', toolNode([stamp]))
  .addEdge(START, 'write')
  .addConditionalEdges('write', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'write')
  .compile();
