import { END, START, StateGraph } from '@agent-workflow/graph';
import { a2aAgent } from '@agent-workflow/graph/a2a';
import { processEnv } from '@agent-workflow/kit/env';

const url = processEnv()['DELEGATE_TO'] ?? 'http://127.0.0.1:1/';

/** Gives what its user wants to the agent of A2A at `DELEGATE_TO`. */
export const graph = new StateGraph({})
  .addNode('helper', a2aAgent({ url }))
  .addEdge(START, 'helper')
  .addEdge('helper', END)
  .compile();
