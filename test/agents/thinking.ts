import { callsTools, chatModel, END, modelNode, START, StateGraph, tool, toolNode } from '@agent-workflow/graph';

const parameters = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const;

const add = tool({ name: 'add', description: 'Adds two numbers.', parameters }, ({ a, b }) => a + b);

/** Asks the model at the address in `config.model_url`, which may call a tool. */
export const graph = new StateGraph({})
  .addNode('ask', (state, context) =>
    modelNode({ model: chatModel({ model: 'thinker', baseUrl: String(context.config['model_url']) }) })(state, context),
  )
  .addNode('tools', toolNode([add]))
  .addEdge(START, 'ask')
  .addConditionalEdges('ask', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'ask')
  .compile();
