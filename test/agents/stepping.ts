import { fromLangGraph } from '@agent-workflow/langgraph';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { Annotation, END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  count: Annotation<number>({ reducer: (before, more) => before + more, default: () => 0 }),
  answer: Annotation<string | null>,
});

const orderIn = ({ messages }: { readonly messages: readonly BaseMessage[] }): string =>
  messages.findLast((message) => message.type === 'human')?.text ?? '';

const isSet = ({ configurable }: RunnableConfig, name: string): boolean => configurable?.[name] === true;

/** `think` answers and counts, `gate` asks where the message says `ask`, and fails where the config says `fail`. */
export const graph = fromLangGraph(
  new StateGraph(State)
    .addNode('think', () => ({ messages: [new AIMessage('pale blue sky over hills')], count: 1 }))
    .addNode('gate', (state, config) => {
      if (isSet(config, 'fail')) throw new Error('planned failure');
      if (!orderIn(state).includes('ask')) return {};
      const answer = String(interrupt({ question: 'go on?' }));
      return { answer, messages: [new AIMessage(`you said ${answer}`)] };
    })
    .addEdge(START, 'think')
    .addEdge('think', 'gate')
    .addEdge('gate', END)
    .compile(),
);

const Notes = Annotation.Root({
  ...MessagesAnnotation.spec,
  notes: Annotation<string[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

/** `left` writes beside `right`, which asks; `last` follows both. */
export const beside = fromLangGraph(
  new StateGraph(Notes)
    .addNode('left', () => ({ notes: ['left'], messages: [new AIMessage({ id: 'of-left', content: 'from left' })] }))
    .addNode('right', () => ({ notes: [`right ${String(interrupt({ question: 'right?' }))}`] }))
    .addNode('last', () => ({ notes: ['last'] }))
    .addEdge(START, 'left')
    .addEdge(START, 'right')
    .addEdge(['left', 'right'], 'last')
    .addEdge('last', END)
    .compile(),
);
