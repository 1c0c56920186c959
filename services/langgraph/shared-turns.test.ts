import { walk } from '@agent-workflow/graph/testing';
import { Annotation, Send, START, StateGraph } from '@langchain/langgraph';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

const branches = 200;

const State = Annotation.Root({
  done: Annotation<number[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
});

/** Computes without a pause, in milliseconds. */
function compute(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('the event loop turns while many branches begin that compute, and they are merged in their order', async (t) => {
  const graph = fromLangGraph(
    new StateGraph(State)
      .addNode('plan', () => ({}))
      .addNode('work', ({ item }: { readonly item: number }) => {
        compute(3);
        return { done: [item] };
      })
      .addEdge(START, 'plan')
      .addConditionalEdges('plan', () => Array.from({ length: branches }, (_, item) => new Send('work', { item })), [
        'work',
      ])
      .compile(),
    { messagesKey: null },
  );
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  t.teardown(() => clearInterval(counting));
  const { state } = await walk(graph);
  t.log(`${turns} turns`);
  t.true(turns > 10, `${turns} turns`);
  t.deepEqual(
    state.values['done'],
    Array.from({ length: branches }, (_, item) => item),
  );
});
