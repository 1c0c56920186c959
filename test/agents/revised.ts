import { END, interrupt, lastUserText, START, StateGraph, type NodeContext } from '@agent-workflow/graph';
import { processEnv } from '@agent-workflow/kit/env';

const revision = processEnv()['AGENT_REVISION'] ?? 'none';

const speak = (_state: unknown, { emit }: Pick<NodeContext, 'emit'>): void => {
  emit(revision);
};

const ends = new StateGraph({})
  .addNode('one', speak)
  .addNode('three', (state, { emit }) => {
    if (lastUserText(state) === 'ask late') interrupt('Go on?');
    emit(revision);
  })
  .addEdge(START, 'one')
  .addEdge('three', END);

/**
 * Each of its steps says which revision it runs at. `ask` asks a person in step `two`, `ask late` in step `three`, and `hold` stays in step
 * `two` for ever. The revision `v6` has no step `two`.
 */
export const graph = (
  revision === 'v6'
    ? ends.addEdge('one', 'three')
    : ends
        .addNode('two', async (state, { emit, signal }) => {
          const text = lastUserText(state);
          if (text === 'ask') interrupt('Go on?');
          if (text === 'hold') await new Promise((_, reject) => signal.addEventListener('abort', reject));
          emit(revision);
        })
        .addEdge('one', 'two')
        .addEdge('two', 'three')
).compile();
