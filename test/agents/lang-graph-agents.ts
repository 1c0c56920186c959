import { randomUUID } from 'node:crypto';
import { send, START as BEGIN, StateGraph as Graph } from '@agent-workflow/graph';
import { fromLangGraph } from '@agent-workflow/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';

const add = tool(({ a, b }: { a: number; b: number }) => String(a + b), {
  ...{ name: 'add', description: 'Adds.' },
  schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
});

const callOf = (b: number) => ({ type: 'tool_call' as const, id: randomUUID(), name: 'add', args: { a: 1, b } });
const last = 'The end.';

const answers = () => [
  { content: 'Let me add.', tool_calls: [callOf(1)] },
  { content: '', tool_calls: [callOf(2), callOf(3)] },
  { content: 'It is done.' },
];

/** Answers by how many answers it has given since the end of the agent before, so that it may serve many runs. */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- what authors use who have not moved to `createAgent`
const adding = createReactAgent({
  llm: ({ messages }: typeof MessagesAnnotation.State) => {
    const begun = messages.findLastIndex(({ text }) => text === last) + 1;
    const given = messages.slice(begun).filter(({ type }) => type === 'ai').length;
    return fakeModel().respond(new AIMessage(answers()[given] ?? ''));
  },
  tools: [add],
});

const inner = new StateGraph(MessagesAnnotation).addNode('agent', adding).addEdge(START, 'agent').compile();

/** A LangGraph graph with a `createReactAgent` in a sub-graph. */
export const nested = fromLangGraph(
  new StateGraph(MessagesAnnotation)
    .addNode('inner', inner)
    .addNode('end', () => ({ messages: [new AIMessage(last)] }))
    .addEdge(START, 'inner')
    .addEdge('inner', 'end')
    .compile(),
);

/** The same as a node of a graph of this service, first by itself and then in two branches. */
export const twice = new Graph({})
  .addNode('first', nested)
  .addNode('then', nested)
  .addEdge(BEGIN, 'first')
  .addConditionalEdges('first', () => [send('then', 1), send('then', 2)], ['then'])
  .compile();
