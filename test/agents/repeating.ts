import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, callsTools, field, textOf, tool, toolNode, userError } from '@agent-workflow/graph';

const repeat = tool(
  {
    name: 'repeat',
    description: 'Gives back a text.',
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
  ({ text }) => text,
);

const chunks = 40;
/** Most of what an event of progress holds may be escaped in its JSON. */
const maxProgress = 8000;

/**
 * Puts the text of the last message wherever a page shows text: a message that is streamed in chunks, the result of a tool, a field of
 * the state, an event of progress. `config.fails` ends the run with an error of the text instead.
 */
export const graph = new StateGraph({
  text: field<unknown>({ type: 'any', description: 'The last text' }),
})
  .addNode('talk', async (state, { config, emit, progress, signal }) => {
    const last = state.context.at(-1);
    const text = last ? textOf(last) : '';
    if (last?.role === 'tool') return {};
    if (config['fails'] === true) throw userError(text);
    progress({ text: text.slice(0, maxProgress) });
    const size = Math.ceil(text.length / chunks);
    for (let from = 0; from < text.length; from += size) {
      emit(text.slice(from, from + size));
      await delay(5, undefined, { signal });
    }
    emit({ type: 'tool_call', id: crypto.randomUUID(), name: 'repeat', args: { text } });
    return { text };
  })
  .addNode('tools', toolNode([repeat]))
  .addEdge(START, 'talk')
  .addConditionalEdges('talk', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'talk')
  .compile();
