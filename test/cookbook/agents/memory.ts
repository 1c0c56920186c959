import { START, StateGraph, textOf, type Message } from '@agent-workflow/graph';

/** Remembers facts over threads: "remember that …" stores one, any other message searches for one. */
export const graph = new StateGraph({})
  .addNode('store', async ({ context }, { emit, memory }) => {
    await memory.store({ content: lastText(context).replace(/^remember that /i, ''), category: 'facts' });
    emit('I will remember it.');
  })
  .addNode('search', async ({ context }, { emit, memory }) => {
    const [best] = await memory.search(lastText(context), { category: 'facts', strategy: 'hybrid', limit: 1 });
    emit(best ? `You wrote: ${best.content}` : 'I do not know.');
  })
  .addConditionalEdges(START, ({ context }) => (/^remember that /i.test(lastText(context)) ? 'store' : 'search'), [
    'store',
    'search',
  ])
  .compile();

function lastText(context: readonly Message[]): string {
  return context.map(textOf).at(-1) ?? '';
}
