import {
  chatModel,
  createReactAgent,
  END,
  field,
  outputNode,
  START,
  StateGraph,
  type Model,
} from '@agent-workflow/graph';

const schema = {
  type: 'object',
  properties: { next: { enum: ['research', 'write', 'finish'] } },
  required: ['next'],
} as const;

/** A supervisor gives the work to one of two agents at a time, until it is done. */
export const createAgent = (model: Model) =>
  new StateGraph({ plan: field<{ readonly next: string }>({ type: 'object', default: { next: 'finish' } }) })
    .addNode('supervise', outputNode({ model, instructions: 'Who works next?', field: 'plan', schema }))
    .addNode('research', createReactAgent({ model, instructions: 'Collect facts.' }))
    .addNode('write', createReactAgent({ model, instructions: 'Write the article from the facts.' }))
    .addEdge(START, 'supervise')
    .addConditionalEdges('supervise', ({ plan: { next } }) => (next === 'finish' ? END : next), [
      'research',
      'write',
      END,
    ])
    .addEdge('research', 'supervise')
    .addEdge('write', 'supervise')
    .compile();

export const graph = createAgent(chatModel({ model: 'gpt-5-mini', apiKey: process.env['OPENAI_API_KEY'] }));
