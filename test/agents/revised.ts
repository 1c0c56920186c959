import { END, interrupt, lastUserText, START, StateGraph } from '@agent-workflow/graph';
import { processEnv } from '@agent-workflow/kit/env';

const revision = processEnv()['AGENT_REVISION'] ?? 'none';

/** Each of its three steps says which revision it runs at. `ask` asks a person in the second one. */
export const graph = new StateGraph({})
  .addNode('one', (_state, { emit }) => {
    emit(revision);
  })
  .addNode('two', (state, { emit }) => {
    if (lastUserText(state) === 'ask') interrupt('Go on?');
    emit(revision);
  })
  .addNode('three', (_state, { emit }) => {
    emit(revision);
  })
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .addEdge('two', 'three')
  .addEdge('three', END)
  .compile();
