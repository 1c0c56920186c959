import { callsTools, END, field, START, StateGraph, textOf, tool, toolNode } from '@agent-workflow/graph';

const add = tool(
  {
    name: 'add',
    description: 'Adds two numbers.',
    parameters: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
  },
  ({ a, b }) => String(a + b),
);

/** Answers "2 + 3" with a call of the tool, then says the result. Ask a model here instead. */
export const graph = new StateGraph({
  sums: field({ type: 'number', description: 'Sums so far', default: 0 }),
})
  .addNode('agent', (state, { emit }) => {
    const last = state.context.at(-1);
    if (last?.role === 'tool') {
      emit(`The sum is ${String(last.content[0]?.['output'])}.`);
      return { sums: state.sums + 1 };
    }
    const [, a, b] = /(\d{1,9}) ?\+ ?(\d{1,9})/.exec(last ? textOf(last) : '') ?? [];
    if (a === undefined || b === undefined) emit('Ask me for a sum, such as 2 + 3.');
    else emit({ type: 'tool_call', id: crypto.randomUUID(), name: 'add', args: { a: Number(a), b: Number(b) } });
    return {};
  })
  .addNode('tools', toolNode([add]))
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'agent')
  .compile();
