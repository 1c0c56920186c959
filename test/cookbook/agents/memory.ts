import { lastUserText, START, StateGraph } from '@agent-workflow/graph';

/** Remembers facts over threads: "remember that …" stores one, any other message searches for one. */
export const graph = new StateGraph({})
  .addNode('store', async (state, { emit, memory }) => {
    await memory.store({ content: lastUserText(state).replace(/^remember that /i, ''), category: 'facts' });
    emit('I will remember it.');
  })
  .addNode('search', async (state, { emit, memory }) => {
    const [best] = await memory.search(lastUserText(state), { category: 'facts', strategy: 'hybrid', limit: 1 });
    emit(best ? `You wrote: ${best.content}` : 'I do not know.');
  })
  .addConditionalEdges(START, (state) => (/^remember that /i.test(lastUserText(state)) ? 'store' : 'search'), [
    'store',
    'search',
  ])
  .compile();
