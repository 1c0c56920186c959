import { fromLangGraph } from '@agent-workflow/langgraph';
import {
  Annotation,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';

const added = Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] });
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  notes: added,
  text: Annotation<string>,
  mode: Annotation<string>,
});
type State = typeof State.State;

/** What a node throws whose message no caller may read. */
class Unwilling extends Error {}

const items = (mode: string): readonly string[] =>
  mode === 'bad' ? ['a', 'bad', 'c'] : mode === 'ask' ? ['a', 'ask', 'c'] : ['a', 'b', 'c'];

/** A branch for each item. */
export const sends = fromLangGraph(
  new StateGraph(State)
    .addNode('plan', () => ({ text: 'planned', notes: ['plan'] }))
    .addNode('work', ({ item }: State & { readonly item: string }) => {
      if (item === 'bad') throw new Unwilling('secret.host.example:5432');
      return { notes: [item === 'ask' ? interrupt<string, string>('which?') : item] };
    })
    .addEdge(START, 'plan')
    .addConditionalEdges('plan', ({ mode }) => items(mode).map((item) => new Send('work', { item })), ['work'])
    .compile(),
);

/** Never ends by itself. */
export const loop = fromLangGraph(
  new StateGraph(State)
    .addNode('turn', () => ({ notes: ['turn'] }))
    .addEdge(START, 'turn')
    .addConditionalEdges('turn', () => 'turn', ['turn'])
    .compile(),
);

/** Fails in its second step. */
export const throwing = fromLangGraph(
  new StateGraph(State)
    .addNode('first', () => ({ notes: ['first'] }))
    .addNode('bad', () => {
      throw new Unwilling('secret.host.example:5432');
    })
    .addEdge(START, 'first')
    .addEdge('first', 'bad')
    .compile(),
);

const inner = new StateGraph(State)
  .addNode('inner_a', () => ({ notes: ['in'], messages: [new AIMessage({ content: 'from inside', id: 'm1' })] }))
  .addNode('inner_b', ({ mode }) => ({ text: mode === 'ask' ? interrupt<string, string>('inner?') : 'inner done' }))
  .addEdge(START, 'inner_a')
  .addEdge('inner_a', 'inner_b')
  .compile();

/** With a graph for one of its nodes. */
export const nested = fromLangGraph(
  new StateGraph(State)
    .addNode('before', () => ({ notes: ['before'] }))
    .addNode('inner', inner)
    .addNode('after', () => ({ notes: ['after'] }))
    .addEdge(START, 'before')
    .addEdge('before', 'inner')
    .addEdge('inner', 'after')
    .compile(),
);

const Cut = Annotation.Root({
  question: Annotation<string>,
  answer: Annotation<string>,
  secret: Annotation<string | undefined>,
  notes: added,
});

/** Takes one field, and gives one out. */
export const narrow = fromLangGraph(
  new StateGraph({
    stateSchema: Cut,
    input: Annotation.Root({ question: Annotation<string> }),
    output: Annotation.Root({ answer: Annotation<string> }),
  })
    .addNode('think', ({ secret }) => ({ secret: `${secret ?? ''}hidden`, notes: ['think'] }))
    .addNode('tell', ({ question, secret }) => ({ answer: `${question}: ${secret ?? ''}`, notes: ['tell'] }))
    .addNode('check', ({ question }) => (question === 'ask' ? { secret: interrupt<string, string>('sure?') } : {}))
    .addEdge(START, 'think')
    .addEdge('think', 'tell')
    .addEdge('tell', 'check')
    .compile(),
  { messagesKey: null },
);

/** Its first node waits at the address in `config.gate`. */
export const gated = fromLangGraph(
  new StateGraph(State)
    .addNode('wait', async ({ notes }, { configurable, signal }) => {
      const gate: unknown = configurable?.['gate'];
      if (typeof gate === 'string') await fetch(gate, { signal });
      return { notes: [`of ${notes.length}`] };
    })
    .addNode('end', () => ({ notes: ['end'] }))
    .addEdge(START, 'wait')
    .addEdge('wait', 'end')
    .compile(),
);

/** Answers with what its config holds, as JSON. */
export const showing = fromLangGraph(
  new StateGraph(State)
    .addNode('show', (_state, { configurable = {}, context, metadata }: LangGraphRunnableConfig) => {
      const own = Object.entries(configurable).filter(([name]) => !name.startsWith('__'));
      return { text: JSON.stringify({ configurable: Object.fromEntries(own), context, metadata }) };
    })
    .addEdge(START, 'show')
    .compile(),
);

/** Asks two questions, one after the other. */
export const asking = fromLangGraph(
  new StateGraph(State)
    .addNode('ask', () => ({ notes: [interrupt<string, string>('one?'), interrupt<string, string>('two?')] }))
    .addEdge(START, 'ask')
    .compile(),
);
