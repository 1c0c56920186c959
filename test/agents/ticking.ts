import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, lastUserText } from '@agent-workflow/graph';

const tickMs = 50;

/** Says `tick` twenty times a second, for as many seconds as the message says. */
export const graph = new StateGraph({})
  .addNode('tick', async (state, { emit, signal }) => {
    const end = Date.now() + Number(lastUserText(state)) * 1000;
    while (Date.now() < end) {
      await delay(tickMs, undefined, { signal });
      emit('tick ');
    }
  })
  .addEdge(START, 'tick')
  .addEdge('tick', END)
  .compile();
