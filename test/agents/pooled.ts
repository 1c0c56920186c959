import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, field, interrupt, lastUserText } from '@agent-workflow/graph';

/** Memory may be one process, which is unavailable while it is upgraded. */
const whileMemoryIsAway = { retry: { maxAttempts: 20, initialDelayMs: 500, maxDelayMs: 500 } };

/**
 * An agent as a team ships it, written with what each version of the packages has since the first. It says which process runs each step,
 * counts its steps in the thread, keeps what the user says in its memory, and asks a question when the user says `ask`. Of `wait 3000` its second
 * step takes so many milliseconds.
 */
export const graph = new StateGraph({
  steps: field<number>({ type: 'number', default: 0, reducer: (sum, more) => sum + more }),
  note: field<string>({ type: 'string', default: '' }),
})
  .addNode('work', async (_state, { emit }) => {
    for (const chunk of ['work in ', String(process.pid)]) {
      emit(chunk);
      await delay(Math.random() * 8);
    }
    return { steps: 1 };
  })
  .addNode(
    'keep',
    async (state, { emit, memory }) => {
      const text = lastUserText(state);
      if (text.startsWith('wait ')) await delay(Number(text.slice('wait '.length)));
      await memory.store({ content: text, category: 'said' });
      const found = await memory.search(text, { category: 'said' });
      emit(found.length > 0 ? `kept in ${String(process.pid)}` : 'lost');
      return { steps: 1 };
    },
    whileMemoryIsAway,
  )
  .addNode('ask', (_state, { emit }) => {
    const answer = interrupt({ question: 'Go on?' });
    emit(`${String(answer)} in ${String(process.pid)}`);
    return { steps: 1 };
  })
  .addEdge(START, 'work')
  .addEdge('work', 'keep')
  .addConditionalEdges('keep', (state) => (lastUserText(state) === 'ask' ? 'ask' : END), ['ask', END])
  .addEdge('ask', END)
  .compile();
