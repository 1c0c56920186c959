import { fromLangGraph } from '@agent-workflow/langgraph';
import { AIMessageChunk, type AIMessage, type BaseMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { Annotation, END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;

const weather = tool(({ city: name }: { city: string }) => `It is sunny in ${name}.`, {
  ...{ name: 'get_weather', description: 'The weather in a city.', schema: city },
});

const assistance = tool(({ city: name }: { city: string }) => `A person says: ${String(interrupt({ about: name }))}`, {
  ...{ name: 'human_assistance', description: 'Asks a person about a city.', schema: city },
});

const tools = new ToolNode([weather, assistance]);

/** What the model answers: it calls a tool after a message of a user, and says what that gave. */
function answerTo(messages: readonly BaseMessage[]): AIMessageChunk[] {
  const last = messages.at(-1);
  if (last?.type === 'tool') return last.text.split(/(?<= )/).map((content) => new AIMessageChunk({ content }));
  const name = last?.text.includes('person') === true ? 'human_assistance' : 'get_weather';
  const call = { id: `call_${messages.length}`, name, args: '{"city":"Paris"}', index: 0 };
  return [
    new AIMessageChunk({ content: 'Let me ' }),
    new AIMessageChunk({ content: 'see. ' }),
    new AIMessageChunk({ content: '', tool_call_chunks: [{ ...call, type: 'tool_call_chunk' }] }),
  ];
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  calls: Annotation<number>({ reducer: (before, more) => before + more, default: () => 0 }),
  topic: Annotation<string>,
});

const agent = async ({ messages }: typeof State.State) => ({
  messages: [await new FakeStreamingChatModel({ sleep: 0, chunks: answerTo(messages) }).invoke(messages)],
  calls: 1,
});

const hasCalls = ({ messages }: typeof State.State) =>
  ((messages.at(-1) as AIMessage | undefined)?.tool_calls ?? []).length > 0 ? 'tools' : END;

const builder = new StateGraph(State)
  .addNode('agent', agent)
  .addNode('tools', tools)
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', hasCalls, ['tools', END])
  .addEdge('tools', 'agent');

/** The agent of LangGraph's quick start, with a model that needs no key. */
export const graph = fromLangGraph(builder.compile());

/** The same, which stops before its tools. */
export const stopping = fromLangGraph(builder.compile({ interruptBefore: ['tools'] }));

const Plan = z.object({ topic: z.string(), steps: z.array(z.string()).default(() => []) });

const inner = new StateGraph(Plan)
  .addNode('draft', ({ topic }) => ({ steps: [`Read about ${topic}`] }))
  .addNode('check', () => ({}))
  .addEdge(START, 'draft')
  .addEdge('draft', 'check')
  .compile();

/** A graph with a schema and a sub-graph. */
export const planning = fromLangGraph(
  new StateGraph(Plan)
    .addNode('plan', inner)
    .addNode('end', () => ({}))
    .addEdge(START, 'plan')
    .addEdge('plan', 'end')
    .compile(),
  { messagesKey: null },
);

const Seen = Annotation.Root({ ...MessagesAnnotation.spec, seen: Annotation<Readonly<Record<string, unknown>>> });

/** A graph that says what its node gets as `configurable`. */
export const showing = fromLangGraph(
  new StateGraph(Seen)
    .addNode('show', (_state, { configurable = {} }) => ({
      seen: Object.fromEntries(Object.entries(configurable).filter(([name]) => !name.startsWith('__'))),
    }))
    .addEdge(START, 'show')
    .compile(),
);
