import { setTimeout as wait } from 'node:timers/promises';
import { END, START, StateGraph } from '@agent-workflow/execution/graph';
import { marker } from './marker.ts';

const { stops } = globalThis as unknown as {
  // The preloaded file puts it there; the agent is loaded by the service, which knows nothing of it.
  readonly stops: { begin(): void; returned(): void };
};

/** One node with one text. Asked to `emit`, it first waits until the start of its run has been published. */
export const graph = new StateGraph({})
  .addNode('answer', async (state, { emit }) => {
    const text = JSON.stringify(state.context);
    if (!text.includes('"emit"')) {
      stops.returned();
      return { messages: [{ role: 'assistant', content: 'an answer' }] };
    }
    await wait(quietMs);
    stops.begin();
    emit(marker);
    await wait(quietMs);
    return {};
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

/** Longer than any batching of events. */
const quietMs = 500;
