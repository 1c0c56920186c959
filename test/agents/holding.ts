import { START, StateGraph } from '@agent-workflow/graph';

/** Holds its process by a timer, as a pool of connections would. */
setInterval(() => undefined, 60_000);

/** Its node hears of no signal. */
export const graph = new StateGraph({})
  .addNode('wait', async ({ context }) => {
    if (context.length > 1) await new Promise(() => undefined);
  })
  .addEdge(START, 'wait')
  .compile();
