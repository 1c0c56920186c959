import { AIMessage } from '@langchain/core/messages';
import { Annotation, DeltaChannel, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { field, textOf } from '@agent-workflow/graph';
import { user, walk, type Walked } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

/** As the service keeps a thread: every part of it becomes JSON between two steps. */
const stored = (walked: Walked): Walked => JSON.parse(JSON.stringify(walked)) as Walked;

const Items = Annotation.Root({
  ...MessagesAnnotation.spec,
  items: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  count: Annotation<number>({ reducer: (_before, now) => now, default: () => 0 }),
});

test('an error names the LangGraph node that failed', async (t) => {
  const graph = new StateGraph(Items)
    .addNode('fine', () => ({ items: ['fine'] }))
    .addNode('broken', () => {
      throw new Error('no such order');
    })
    .addEdge(START, 'fine')
    .addEdge(START, 'broken')
    .compile();
  const error = await t.throwsAsync(walk(fromLangGraph(graph), { context: [user('Go')] }));
  t.like(error, { code: 'NodeFailed', node: 'broken', message: 'node "broken" of LangGraph failed: no such order' });
});

test('a channel over the size limit of the state fails the step and says which', async (t) => {
  const graph = new StateGraph(Items)
    .addNode('large', () => ({ items: ['x'.repeat(3_000_000)] }))
    .addEdge(START, 'large')
    .compile();
  await t.throwsAsync(walk(fromLangGraph(graph), { context: [user('Go')] }), {
    message: /^field "items" has 3\d+ bytes or more, and the size limit of the state is 2097152/,
  });
});

test('nodes get the thread, the config and the user of the run, and a caller cannot choose a checkpoint', async (t) => {
  let seen: Readonly<Record<string, unknown>> = {};
  let context: unknown;
  const graph = new StateGraph(Items)
    .addNode('look', (_state, config) => {
      seen = config.configurable ?? {};
      ({ context } = config);
      config.writer({ step: 'looked' });
      return {};
    })
    .addEdge(START, 'look')
    .compile();
  const progress: unknown[] = [];
  await walk(fromLangGraph(graph), {
    context: [user('Go')],
    run: {
      config: { tone: 'brief', checkpoint_id: 'x', thread_id: 'y', __pregel_resuming: true },
      context: { locale: 'fr' },
      user: { sub: 'ada' },
    },
    onProgress: (_node, data) => progress.push(data),
  });
  t.like(seen, { tone: 'brief', thread_id: 'thread', user: { sub: 'ada' }, idempotency_key: 'run/1/look' });
  t.not(seen['checkpoint_id'], 'x');
  t.deepEqual(context, { tone: 'brief', locale: 'fr' });
  t.deepEqual(progress, [{ step: 'looked' }]);
});

test('a graph without the channel of messages is refused with the channels that it has', (t) => {
  const State = Annotation.Root({ talk: Annotation<string[]>, topic: Annotation<string> });
  const graph = new StateGraph(State)
    .addNode('a', () => ({}))
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile();
  t.throws(() => fromLangGraph(graph), {
    message:
      'messagesKey: the LangGraph graph has no channel "messages", it has talk, topic; null says that it has no messages',
  });
});

test('a graph without messages takes fields for its input, the same ones twice, too', async (t) => {
  const State = Annotation.Root({
    topic: Annotation<string>,
    found: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  });
  const graph = new StateGraph(State)
    .addNode('find', ({ topic }) => ({ found: [`about ${topic}`] }))
    .addEdge(START, 'find')
    .addEdge('find', END)
    .compile();
  const agent = fromLangGraph(graph, {
    messagesKey: null,
    fields: { topic: field<string>({ type: 'string' }), found: field<string[]>({ type: 'array', default: [] }) },
  });
  const empty = await walk(agent, { maxSteps: 0 });
  const given = { ...empty, next: [], state: { ...empty.state, values: { ...empty.state.values, topic: 'wind' } } };
  const first = stored(await walk(agent, { from: given }));
  t.deepEqual(first.state.values['found'], ['about wind']);
  t.deepEqual(first.state.context, []);
  const again = await walk(agent, { from: first });
  t.deepEqual(again.state.values['found'], ['about wind', 'about wind']);
});

test('channels are fields of the state: a changed field is input, and a changed channel is a changed field', async (t) => {
  const graph = new StateGraph(Annotation.Root({ ...Items.spec, topic: Annotation<string> }))
    .addNode('write', ({ topic, items }) => ({ items: [`about ${topic}`], count: items.length }))
    .addEdge(START, 'write')
    .compile();
  const fields = {
    topic: field({ type: 'string' }),
    items: field({ type: 'array' }),
    count: field({ type: 'integer' }),
  };
  const agent = fromLangGraph(graph, { fields });
  const empty = await walk(agent, { maxSteps: 0 });
  const given = { ...empty, next: [], state: { ...empty.state, values: { ...empty.state.values, topic: 'bees' } } };
  const first = stored(await walk(agent, { from: given, context: [user('Write')] }));
  t.like(first.state.values, { topic: 'bees', items: ['about bees'], count: 0 });
  const second = await walk(agent, { from: first, context: [user('Again')] });
  t.like(second.state.values, { topic: 'bees', items: ['about bees', 'about bees'], count: 1 });
  t.throws(() => fromLangGraph(graph, { fields: { theme: field({ type: 'string' }) } }), {
    message: /^fields: the LangGraph graph has no channel "theme"/,
  });
  const reduced = field<number>({ type: 'integer', default: 0, reducer: (a, b) => a + b });
  t.throws(() => fromLangGraph(graph, { fields: { count: reduced } }), { message: /field "count" has a reducer/ });
});

test('breakpoints of a graph are those of its runs, and those of a sub-graph are refused, because a run would pass them', async (t) => {
  const build = () => new StateGraph(Items).addNode('pay', () => ({ items: ['paid'] })).addEdge(START, 'pay');
  t.deepEqual(fromLangGraph(build().compile({ interruptBefore: ['pay'] })).breakpoints, { before: ['pay'], after: [] });
  const sub = build().compile({ interruptAfter: ['pay'] });
  const agent = fromLangGraph(new StateGraph(Items).addNode('sub', sub).addEdge(START, 'sub').compile());
  await t.throwsAsync(walk(agent, { context: [user('Pay')] }), {
    message: /interruptAfter of the sub-graph "sub": a sub-graph does not stop/,
  });
});

test('a channel that needs older checkpoints is refused', (t) => {
  const State = Annotation.Root({
    ...Items.spec,
    log: new DeltaChannel((before: string[]) => before),
  });
  const graph = new StateGraph(State)
    .addNode('a', () => ({}))
    .addEdge(START, 'a')
    .compile();
  t.throws(() => fromLangGraph(graph), { message: /^channel "log" is a DeltaChannel/ });
});

test('a super-step that fails is run again by the policy, and a run that failed is followed by the next', async (t) => {
  let failures = 0;
  const graph = new StateGraph(Items)
    .addNode('first', () => ({ items: ['first'] }))
    .addNode('second', ({ messages, items }) => {
      if (failures-- > 0) throw new Error('busy');
      return { messages: [new AIMessage(`${items.length} after ${messages.length}`)] };
    })
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .compile();
  failures = 1;
  const policy = { retry: { maxAttempts: 2, initialDelayMs: 0 } };
  const retried = await walk(fromLangGraph(graph, { policy }), { context: [user('Go')] });
  t.is(retried.state.context.map(textOf).at(-1), '1 after 1');
  failures = 1;
  const agent = fromLangGraph(graph);
  const begun = stored(await walk(agent, { context: [user('Go')], maxSteps: 1 }));
  await t.throwsAsync(walk(agent, { from: begun }), { message: /"second" of LangGraph failed: busy/ });
  const next = await walk(agent, { from: { ...begun, next: [] }, context: [user('Again')] });
  t.is(next.state.context.map(textOf).at(-1), '2 after 2');
});
