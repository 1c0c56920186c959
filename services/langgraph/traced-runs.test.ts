import { AIMessage, SystemMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { tool } from '@langchain/core/tools';
import { Command, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import type { CompiledGraph } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';
import { ContentBudget } from '@agent-workflow/graph/trace/bounded-content';
import { runTraced } from '@agent-workflow/graph/trace/current-span';
import { StepTrace } from '@agent-workflow/graph/trace/step-trace';
import type { StoredContent, StoredSpan } from '@agent-workflow/protos/run-trace';
import { readContent, readTrace } from '@agent-workflow/protos/stored-trace';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

interface Traced {
  readonly spans: readonly StoredSpan[];
  readonly content: StoredContent;
}

/** Walks through the graph, and gives what was traced of all its super-steps together. */
async function trace(graph: CompiledGraph): Promise<Traced> {
  const context = [user('Hello')];
  const step = new StepTrace({ start: 0, now: Date.now, budget: new ContentBudget({ left: 1024 * 1024 }) });
  await runTraced({ span: step.step, context }, () => walk(graph, { context }).catch(() => undefined));
  const { spansJson, contentJson } = step.toStored('completed') ?? {};
  return {
    spans: spansJson ? readTrace(spansJson).spans : [],
    content: contentJson ? readContent(contentJson) : {},
  };
}

const shown = ({ spans }: Traced): unknown =>
  spans.map(({ kind, name, in: parent, status }) => [kind, name, parent, status]);

/** What is used of a tool of LangChain. */
interface Invoked {
  invoke(input: unknown): Promise<unknown>;
}

const add: Invoked = tool(({ a }: { a: number }) => String(a + 1), {
  ...{ name: 'add', description: 'Adds one.' },
  schema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
});

test('nodes of LangGraph, and those of sub-graphs within them, are spans with their models and tools', async (t) => {
  const model = new FakeListChatModel({ responses: ['Hi'] });
  const inner = new StateGraph(MessagesAnnotation)
    .addNode('talk', async ({ messages }) => ({
      messages: [await model.invoke([new SystemMessage('SECRET'), ...messages])],
    }))
    .addEdge(START, 'talk')
    .compile();
  const traced = await trace(
    fromLangGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('inner', inner)
        .addNode('count', async () => ({ messages: [new AIMessage(String(await add.invoke({ a: 1 })))] }))
        .addEdge(START, 'inner')
        .addEdge('inner', 'count')
        .compile(),
    ),
  );
  t.deepEqual(shown(traced), [
    ['node', 'inner', undefined, undefined],
    ['node', 'talk', 1, undefined],
    ['model', '', 2, undefined],
    ['node', 'count', undefined, undefined],
    ['tool', 'add', 4, undefined],
  ]);
  t.like(traced.spans[2]?.sent, { count: 2 });
  t.is(traced.spans[2]?.sent?.ranges.length, 1, 'the message of the thread is known by its id');
  t.like(traced.content['3'], {
    sent: [{ role: 'system', content: [{ type: 'text', text: 'SECRET' }] }],
    output: 'Hi',
  });
  t.false(JSON.stringify(traced.spans).includes('SECRET'));
});

test('a node that throws has failed, and one that asks waits', async (t) => {
  const failing = await trace(
    fromLangGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('fails', () => {
          throw new Error('THROWN');
        })
        .addEdge(START, 'fails')
        .compile(),
    ),
  );
  t.deepEqual(shown(failing), [['node', 'fails', undefined, 'failed']]);
  t.false(JSON.stringify(failing.spans).includes('THROWN'));
  t.like(failing.content['1']?.error, { message: 'THROWN' });
  const asking = await trace(
    fromLangGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('asks', () => ({ messages: [new AIMessage(String(interrupt('Well?')))] }))
        .addEdge(START, 'asks')
        .compile(),
    ),
  );
  t.deepEqual(shown(asking), [['node', 'asks', undefined, 'waiting']]);
});

test('a node that hands off to a node of the graph around its own has completed', async (t) => {
  const inner = new StateGraph(MessagesAnnotation)
    .addNode('hands', () => new Command({ graph: Command.PARENT, goto: 'takes' }))
    .addEdge(START, 'hands')
    .compile();
  const traced = await trace(
    fromLangGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('inner', inner, { ends: ['takes'] })
        .addNode('takes', () => ({}))
        .addEdge(START, 'inner')
        .compile(),
    ),
  );
  t.deepEqual(shown(traced), [
    ['node', 'inner', undefined, undefined],
    ['node', 'hands', 1, undefined],
    ['node', 'takes', undefined, undefined],
  ]);
  t.false(JSON.stringify(traced.content).includes('ParentCommand'));
});
