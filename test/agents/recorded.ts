import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, field, interrupt, textOf, type Message } from '@agent-workflow/graph';

/** The text of the last message of a user. */
const orderIn = (context: readonly Message[]): string =>
  context.flatMap((message) => (message.role === 'user' ? [textOf(message)] : [])).at(-1) ?? '';

/**
 * Does what the graph of the recordings of LangGraph Server does: `think` answers every message alike and counts its own turns, `gate` asks
 * a person where the message says `ask`. `fail` fails it, and `slow` takes a minute.
 */
export const graph = new StateGraph({
  count: field<number>({
    type: 'integer',
    description: 'Turns thought',
    default: 0,
    reducer: (count, more) => count + more,
  }),
  answer: field<string | null>({ type: 'any', description: 'What the person said', default: null }),
})
  .addNode('think', async (state, { emit, progress, signal }) => {
    const order = orderIn(state.context);
    if (order.includes('fail')) throw new Error('planned failure');
    if (order.includes('slow')) await delay(60_000, undefined, { signal });
    progress({ note: 'working' });
    for (const chunk of ['pale ', 'blue ', 'sky ', 'over ', 'hills']) emit(chunk);
    return { count: 1 };
  })
  .addNode('gate', (state, { emit }) => {
    if (!orderIn(state.context).includes('ask')) return {};
    const answer = String(interrupt({ question: 'go on?', options: ['yes', 'no'] }));
    emit(`you said ${answer}`);
    return { answer };
  })
  .addEdge(START, 'think')
  .addEdge('think', 'gate')
  .addEdge('gate', END)
  .compile();
