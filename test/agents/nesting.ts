import { END, START, StateGraph, callsTools, textOf, tool, toolNode } from '@agent-workflow/graph';

const finder = tool(
  { name: 'look', description: 'Looks something up.', parameters: { type: 'object', properties: {} } },
  () => 'it lies in Rotterdam',
);

/** Looks something up before it says anything. */
const research = new StateGraph({})
  .addNode('read', (state, { emit }) => {
    const last = state.context.at(-1);
    if (last?.role === 'tool') emit(`Found: ${String(last.content[0]?.['output'])}.`);
    else {
      emit('I look. ');
      emit({ type: 'tool_call', id: crypto.randomUUID(), name: 'look', args: {} });
    }
  })
  .addNode('tools', toolNode([finder]))
  .addEdge(START, 'read')
  .addConditionalEdges('read', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'read')
  .compile();

/** A graph whose first node is a sub-graph: it calls a tool and says what that gave. Then a gate is waited at, and the answer is said. */
export const graph = new StateGraph({})
  .addNode('research', research)
  .addNode('answer', async (state, { config, emit, signal }) => {
    emit('So: ');
    if (typeof config['gate'] === 'string') await fetch(config['gate'], { signal });
    emit(`${textOf(state.context.at(-1) ?? { content: [] })} That is all.`);
  })
  .addEdge(START, 'research')
  .addEdge('research', 'answer')
  .addEdge('answer', END)
  .compile();
