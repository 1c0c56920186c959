import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, callsTools, field, interrupt, textOf, tool, toolNode } from '@agent-workflow/graph';

const parameters = { type: 'object', properties: { zone: { type: 'string' } } };
const clock = tool({ name: 'clock', description: 'Says what time it is.', parameters }, () => 'noon');

/** The words of an answer, and how long it takes to write one, in milliseconds. */
const words = Array.from({ length: 30 }, (_, index) => `word${String(index)} `);
const wordMs = 40;

/**
 * Writes an answer word by word, as a model does: so slowly that its readers can be cut within. Where the message says `time` it asks the tool
 * `clock` first, and where it says `sure` it asks a person.
 */
export const graph = new StateGraph({
  turns: field<number>({
    type: 'integer',
    description: 'Turns taken',
    default: 0,
    reducer: (turns, more) => turns + more,
  }),
})
  .addNode('write', async (state, { emit, progress, signal }) => {
    const last = state.context.at(-1);
    const order = last ? textOf(last) : '';
    if (last?.role === 'user' && order.includes('time')) {
      emit({ type: 'tool_call', id: `call-${String(state.turns)}`, name: 'clock', args: { zone: 'UTC' } });
      return { turns: 1 };
    }
    progress({ name: 'pace', payload: { words: words.length } });
    for (const word of words) {
      await delay(wordMs, undefined, { signal });
      emit(word);
    }
    return { turns: 1 };
  })
  .addNode('tools', toolNode([clock]))
  .addNode('confirm', (state, { emit }) => {
    const order = state.context.findLast(({ role }) => role === 'user');
    if (!order || !textOf(order).includes('sure')) return {};
    emit(`you said ${String(interrupt({ question: 'sure?' }))}`);
    return {};
  })
  .addEdge(START, 'write')
  .addConditionalEdges('write', (state) => (callsTools(state) ? 'tools' : 'confirm'))
  .addEdge('tools', 'write')
  .addEdge('confirm', END)
  .compile();
