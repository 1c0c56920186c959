import { END, offerMcp, START, StateGraph, type McpCall, type McpOffer } from '@agent-workflow/graph';

const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
const outputSchema = { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] };

/** As a program in JavaScript could write it: fields of the wrong types, and a name that is another agent's. */
const careless = JSON.parse(
  JSON.stringify({
    tools: [
      { name: 'plain', description: 5, annotations: 'none', outputSchema: { type: 'string' }, inputSchema },
      { name: 'measure', inputSchema, outputSchema },
      { name: 'typing', inputSchema },
    ],
    prompts: [{ name: 'ask', description: ['none'], title: 5 }],
    resources: [{ uri: 'offered://{x}/none', name: 'a', mimeType: 5, annotations: 'none' }],
  }),
) as McpOffer;

const written = new StateGraph({})
  .addNode('answer', (_state, { context, emit }) => {
    const { name, arguments: given } = context['mcp'] as McpCall;
    emit(`${name} ${JSON.stringify(given)}`);
    if (given['region'] === 'north') emit({ type: 'structured_content', content: { degrees: -5 } });
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

/** Says what it is called with; what it offers is not what clients take. */
export const graph = offerMcp(written, careless);
