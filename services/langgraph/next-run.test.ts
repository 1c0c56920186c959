import { AIMessage } from '@langchain/core/messages';
import {
  Annotation,
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { EphemeralValue, Topic } from '@langchain/langgraph/channels';
import { field, textOf } from '@agent-workflow/graph';
import { user, walk, type Walked } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

/** As the service keeps a thread: every part of it becomes JSON between two steps. */
const stored = (walked: Walked): Walked => JSON.parse(JSON.stringify(walked)) as Walked;

const lastText = ({ state }: Walked): string | undefined => state.context.map(textOf).at(-1);
const concat = (before: string[], more: string[]): string[] => before.concat(more);
const list = () => Annotation<string[]>({ reducer: concat, default: () => [] });

test('channels that are no fields hold their values from run to run, and those that pass values on do not', async (t) => {
  const names = ['context', 'context_summary', '__own', 'with:colon', 'all', 'each', 'passing'] as const;
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    ...{ context: list(), context_summary: list(), __own: list(), 'with:colon': list() },
    all: () => new Topic<string>({ accumulate: true }),
    each: () => new Topic<string>(),
    passing: () => new EphemeralValue<string[]>(),
  });
  const graph = new StateGraph(State)
    .addNode('read', (state) => {
      const held = state as unknown as Readonly<Record<string, string[] | undefined>>;
      return { messages: [new AIMessage(names.map((name) => held[name]?.length ?? 0).join(' '))] };
    })
    .addNode('write', () => Object.fromEntries(names.map((name) => [name, ['one']])))
    .addEdge(START, 'read')
    .addEdge('read', 'write')
    .compile();
  const agent = fromLangGraph(graph);
  const texts: (string | undefined)[] = [];
  let walked = stored(await walk(agent, { context: [user('Go')] }));
  texts.push(lastText(walked));
  for (let run = 1; run < 3; run++) {
    walked = stored(await walk(agent, { from: walked, context: [user('Again')] }));
    texts.push(lastText(walked));
  }
  t.deepEqual(texts, ['0 0 0 0 0 0 0', '1 1 1 1 1 0 0', '2 2 2 2 2 0 0']);
});

test('a sub-graph that keeps its state has it in the next step and the next run, also where it has asked', async (t) => {
  const State = Annotation.Root({ seen: list() });
  const counts: number[] = [];
  const sub = new StateGraph(State)
    .addNode('count', ({ seen }) => {
      counts.push(seen.length);
      return { seen: [String(interrupt('Go on?'))] };
    })
    .addEdge(START, 'count')
    .compile({ checkpointer: true });
  const call = async (): Promise<object> => {
    await sub.invoke({ seen: ['input'] });
    return {};
  };
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('one', call)
    .addNode('again', call)
    .addEdge(START, 'one')
    .addEdge('one', 'again')
    .compile();
  const agent = fromLangGraph(graph);
  let walked: Walked | undefined;
  for (let run = 0; run < 2; run++) {
    walked = await walk(agent, { ...(walked && { from: walked }), context: [user('Go')] });
    while (walked.waiting) {
      const answers = Object.fromEntries(walked.interrupts.map(({ id }) => [id, 'yes']));
      walked = stored(await walk(agent, { from: stored(walked), answers }));
    }
  }
  const native = new StateGraph(MessagesAnnotation)
    .addNode('one', call)
    .addNode('again', call)
    .addEdge(START, 'one')
    .addEdge('one', 'again')
    .compile({ checkpointer: new MemorySaver() });
  const ours = counts.splice(0);
  const config = { configurable: { thread_id: 't' } };
  for (let run = 0; run < 2; run++) {
    await native.invoke({ messages: [{ role: 'user', content: 'Go' }] }, config);
    for (let question = 0; question < 2; question++) await native.invoke(new Command({ resume: 'yes' }), config);
  }
  t.deepEqual(ours, counts);
  t.true(counts.length === 8 && Math.max(...counts) > Math.min(...counts), String(counts));
});

test('a thread that stands before a node which a new release lacks fails, and says so', async (t) => {
  const build = (name: string) =>
    fromLangGraph(
      new StateGraph(MessagesAnnotation)
        .addNode(name, () => ({ messages: [new AIMessage(String(interrupt('Well?')))] }))
        .addEdge(START, name)
        .compile(),
    );
  const before = stored(await walk(build('old'), { context: [user('Go')], maxSteps: 0 }));
  const fault = { message: 'the graph has no node "old"' };
  await t.throwsAsync(walk(build('new'), { from: before }), fault);
  const asked = stored(await walk(build('old'), { from: before }));
  const answers = Object.fromEntries(asked.interrupts.map(({ id }) => [id, 'yes']));
  await t.throwsAsync(walk(build('new'), { from: asked, answers }), fault);
});

test('members that are undefined are not in a field, and a field is not written for a channel of it', async (t) => {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    person: Annotation<{ name: string; email?: string | undefined; tags: (string | undefined)[] }>,
    topic: Annotation<string | undefined>,
  });
  const seen: unknown[] = [];
  const graph = new StateGraph(State)
    .addNode('write', () => ({ person: { name: 'Ada', email: undefined, tags: [undefined] }, topic: undefined }))
    .addNode('read', (state) => {
      seen.push(state.person, state.topic);
      return {};
    })
    .addEdge(START, 'write')
    .addEdge('write', 'read')
    .compile();
  const agent = fromLangGraph(graph, { fields: { topic: field({ type: 'string' }) } });
  const { state } = await walk(agent, { context: [user('Go')] });
  t.deepEqual(state.values['person'], { name: 'Ada', tags: [null] });
  t.false('topic' in state.values);
  t.deepEqual(seen, [{ name: 'Ada', tags: [null] }, undefined]);
});

test('a write of a caller that would lose objects of LangChain in a field is refused', async (t) => {
  const notes = Annotation<unknown[]>({ reducer: (before, more) => before.concat(more), default: () => [] });
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, notes }))
    .addNode('write', () => ({ notes: [new AIMessage('Kept')] }))
    .addEdge(START, 'write')
    .compile();
  const agent = fromLangGraph(graph);
  const reducer = agent.fields['notes']?.reducer;
  t.deepEqual(reducer?.(['one'], [{ lc: 1 }]), ['one', '{"lc":1}']);
  const { state } = stored(await walk(agent, { context: [user('Go')] }));
  t.throws(() => reducer?.(state.values['notes'], ['two']), { message: /holds objects of LangChain/ });
});
