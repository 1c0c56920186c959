import { fromLangGraph } from '@agent-workflow/langgraph';
import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  ran: Annotation<string[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

const chunks = ['before ', 'the ', 'gate'].map((content) => new AIMessageChunk({ content }));
const model = new FakeStreamingChatModel({ sleep: 0, chunks });

/** A LangGraph graph: says one thing, waits at the address in `config.gate`, says which nodes ran, and asks. */
export const graph = fromLangGraph(
  new StateGraph(State)
    .addNode('before', async ({ messages }) => ({ messages: [await model.invoke(messages)], ran: ['before'] }))
    .addNode('after', async (_state, { configurable, signal }) => {
      await fetch(String(configurable?.['gate']), { signal });
      return { ran: ['after'] };
    })
    .addNode('ask', ({ ran }) => ({
      messages: [new AIMessage(`${ran.join(', ')}: ${String(interrupt('Is that all?'))}`)],
    }))
    .addEdge(START, 'before')
    .addEdge('before', 'after')
    .addEdge('after', 'ask')
    .compile(),
);
