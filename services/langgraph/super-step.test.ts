import { AIMessage, RemoveMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { Annotation, Command, interrupt, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { textOf, type CompiledGraph, type Message } from '@agent-workflow/graph';
import { user, walk, type Walked, type WalkOptions, walkWithCrashes } from '@agent-workflow/graph/testing';
import test from 'ava';
import fc from 'fast-check';
import { createAgent } from 'langchain';
import { fromLangGraph } from './from-lang-graph.ts';

/** As the service keeps a thread: every part of it becomes JSON between two steps. */
const stored = (walked: Walked): Walked => JSON.parse(JSON.stringify(walked)) as Walked;

/** Walks to the end as a chain of processes does that each die after one step. */
async function walkStepByStep(graph: CompiledGraph, options: WalkOptions): Promise<{ last: Walked; steps: string[] }> {
  let last = await walk(graph, { ...options, maxSteps: 1 });
  const steps = [...last.steps.flat()];
  while (last.next.length > 0 && !last.waiting) {
    last = stored(last);
    last = await walk(graph, { from: last, maxSteps: 1 });
    steps.push(...last.steps.flat());
  }
  return { last, steps };
}

const texts = ({ state }: Walked): string[] => state.context.map(textOf);
const kinds = (messages: readonly Message[]): string[] =>
  messages.map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join()}`);

const Items = Annotation.Root({
  ...MessagesAnnotation.spec,
  items: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  count: Annotation<number>({ reducer: (_before, now) => now, default: () => 0 }),
});

test('an agent of LangChain calls its model and its tools step by step', async (t) => {
  const add = tool(({ a, b }: { a: number; b: number }) => String(a + b), {
    ...{ name: 'add', description: 'Adds.' },
    schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  });
  const llm = fakeModel()
    .respondWithTools([{ name: 'add', args: { a: 2, b: 3 }, id: 'call_1' }])
    .respond(new AIMessage('It is 5.'));
  const { last, steps } = await walkStepByStep(fromLangGraph(createAgent({ model: llm, tools: [add] })), {
    context: [user('What is 2 + 3?')],
  });
  t.deepEqual(steps, ['model_request', 'tools', 'model_request']);
  const { context } = last.state;
  t.deepEqual(kinds(context), ['user: text', 'assistant: text,tool_call', 'tool: tool_result', 'assistant: text']);
  t.like(context[1]?.content[1], { type: 'tool_call', id: 'call_1', name: 'add', args: { a: 2, b: 3 } });
  t.like(context[2]?.content[0], { call_id: 'call_1', output: '5', status: 'completed', is_error: false });
  t.is(texts(last).at(-1), 'It is 5.');
  t.deepEqual(
    llm.calls[1]?.messages.map(({ type }) => type),
    ['human', 'ai', 'tool'],
  );
});

test('branches of Send run side by side and their results are reduced in one step', async (t) => {
  const ran: string[] = [];
  const graph = new StateGraph(Items)
    .addNode('plan', () => ({ items: ['plan'] }))
    .addNode('work', ({ item }: { item: string }) => {
      ran.push(item);
      return { items: [item] };
    })
    .addNode('end', ({ items }) => ({ messages: [new AIMessage(items.join(' '))] }))
    .addEdge(START, 'plan')
    .addConditionalEdges('plan', () => ['a', 'b', 'c'].map((item) => new Send('work', { item })), ['work'])
    .addEdge('work', 'end')
    .compile();
  const { last, steps } = await walkStepByStep(fromLangGraph(graph), { context: [user('Go')] });
  t.is(texts(last).at(-1), 'plan a b c');
  t.deepEqual(
    [ran.toSorted(), steps],
    [
      ['a', 'b', 'c'],
      ['plan', 'work', 'end'],
    ],
  );
});

test('a conditional edge leads through a loop, one step each, and no earlier node runs again', async (t) => {
  const ran: string[] = [];
  const build = () =>
    fromLangGraph(
      new StateGraph(Items)
        .addNode('draft', ({ count }) => {
          ran.push(`draft ${count}`);
          return { count: count + 1, messages: [new AIMessage(`Draft ${count + 1}`)] };
        })
        .addNode('publish', ({ count }) => {
          ran.push('publish');
          return { messages: [new AIMessage(`Published ${count}`)] };
        })
        .addEdge(START, 'draft')
        .addConditionalEdges('draft', ({ count }) => (count < 3 ? 'draft' : 'publish'), ['draft', 'publish'])
        .compile(),
    );
  const whole = await walk(build(), { context: [user('Write')] });
  const inOne = ran.splice(0);
  const { last } = await walkStepByStep(build(), { context: [user('Write')] });
  t.deepEqual(ran, ['draft 0', 'draft 1', 'draft 2', 'publish']);
  t.deepEqual(inOne, ran);
  t.deepEqual(texts(last), texts(whole));
});

test('a sub-graph runs within one step, and continues where it asked', async (t) => {
  const ran: string[] = [];
  const sub = new StateGraph(Items)
    .addNode('before', () => {
      ran.push('before');
      return { items: ['before'] };
    })
    .addNode('ask', () => ({ messages: [new AIMessage(`Got ${String(interrupt('Which?'))}`)] }))
    .addEdge(START, 'before')
    .addEdge('before', 'ask')
    .compile();
  const agent = fromLangGraph(new StateGraph(Items).addNode('sub', sub).addEdge(START, 'sub').compile());
  const asked = stored(await walk(agent, { context: [user('Go')] }));
  t.deepEqual(asked.steps, [['sub']]);
  const [{ id } = { id: '' }] = asked.interrupts;
  const done = await walk(agent, { from: asked, answers: { [id]: 'this' } });
  t.is(texts(done).at(-1), 'Got this');
  t.deepEqual(ran, ['before']);
  t.deepEqual(Object.keys((done.state.values['__langgraph'] as { checkpoints: object }).checkpoints), ['']);
});

test('the next turn of a thread gives the graph what is new, and a removed message leaves the context', async (t) => {
  const seen: string[][] = [];
  const graph = new StateGraph(Items)
    .addNode('agent', ({ messages, count }) => {
      seen.push(messages.map(({ text }) => text));
      const oldest = messages.length > 3 ? [new RemoveMessage({ id: messages[0]?.id ?? '' })] : [];
      return { messages: [...oldest, new AIMessage(`Answer ${count + 1}`)], count: count + 1 };
    })
    .addEdge(START, 'agent')
    .compile();
  const agent = fromLangGraph(graph);
  let walked = stored(await walk(agent, { context: [user('One')] }));
  walked = stored(await walk(agent, { from: walked, context: [user('Two')] }));
  t.deepEqual(texts(walked), ['One', 'Answer 1', 'Two', 'Answer 2']);
  walked = stored(await walk(agent, { from: walked, context: [user('Three')] }));
  t.deepEqual(seen.at(-1), ['One', 'Answer 1', 'Two', 'Answer 2', 'Three']);
  t.deepEqual(texts(walked), ['Answer 1', 'Two', 'Answer 2', 'Three', 'Answer 3']);
  const [, ...shorter] = walked.state.context;
  const from = { ...walked, state: { ...walked.state, context: shorter } };
  await walk(agent, { from, context: [user('Four')] });
  t.deepEqual(seen.at(-1), ['Two', 'Answer 2', 'Three', 'Answer 3', 'Four']);
});

/** A graph of nodes that add to a channel, in layers: each node of a layer leads to some of the next, some by Send, the last is deferred. */
const layered = fc.array(
  fc.array(fc.record({ targets: fc.array(fc.nat(3), { maxLength: 3 }), sends: fc.nat(2), repeats: fc.nat(2) }), {
    minLength: 1,
    maxLength: 3,
  }),
  { minLength: 1, maxLength: 4 },
);

test('any graph ends in one step a super-step with what LangGraph ends with', async (t) => {
  await fc.assert(
    fc.asyncProperty(layered, async (layers) => {
      const name = (layer: number, index: number): string => `n${layer}_${index}`;
      const builder = new StateGraph(Items) as unknown as StateGraph<
        typeof Items,
        typeof Items.State,
        typeof Items.Update,
        string
      >;
      builder.addNode(
        'last',
        ({ items }) => ({ messages: [new AIMessage({ id: 'last', content: (items as string[]).join(' ') })] }),
        {
          defer: true,
        },
      );
      for (const [layer, nodes] of layers.entries())
        for (const [index, { targets, sends, repeats }] of nodes.entries()) {
          const own = name(layer, index);
          builder.addNode(own, ({ count }) => ({ items: [own], count: count + 0 }));
          const next = layers[layer + 1]?.length ?? 0;
          const to = (target: number): string => (next === 0 ? 'last' : name(layer + 1, target % next));
          builder.addConditionalEdges(own, ({ items }) => {
            if (items.filter((item) => item === own).length < repeats) return [own];
            const sent = Array.from(
              { length: sends },
              (_, at) => new Send(to(at), { items: [], count: at, messages: [] }),
            );
            return ['last', ...new Set(targets.map(to)), ...sent];
          });
        }
      for (const index of layers[0]?.keys() ?? []) builder.addEdge(START, name(0, index));
      const graph = builder.compile();
      const expected = await graph.invoke(
        { messages: [{ role: 'user', content: 'Go', id: 'm' }] },
        { recursionLimit: 100 },
      );
      const { last, steps } = await walkStepByStep(fromLangGraph(graph), {
        context: [{ ...user('Go'), message_id: 'm' }],
      });
      t.deepEqual(
        texts(last),
        (expected.messages as { text: string }[]).map(({ text }) => text),
      );
      t.true(steps.length > 1);
    }),
    { numRuns: 25 },
  );
});

test('a crash between any two super-steps, or within one, leads to the same thread', async (t) => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('one', () => ({ messages: [new AIMessage({ id: 'one', content: 'one' })] }))
    .addNode('two', () => ({ messages: [new AIMessage({ id: 'two', content: 'two' })] }))
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .compile();
  const options = { context: [user('Hello')], ignoredFields: ['__langgraph'] };
  const { crashes, differences } = await walkWithCrashes(() => fromLangGraph(graph), options);
  t.deepEqual(differences, []);
  t.is(crashes, 3);
});

test('a crash before a question, or after its answer, leads to the same thread: ids of questions are not compared', async (t) => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('ask', () => ({ messages: [new AIMessage({ id: 'ask', content: String(interrupt('Go on?')) })] }))
    .addNode('beside', () => ({ messages: [new AIMessage({ id: 'beside', content: String(interrupt('And you?')) })] }))
    .addNode('end', () => ({ messages: [new AIMessage({ id: 'end', content: 'end' })] }))
    .addEdge(START, 'ask')
    .addEdge(START, 'beside')
    .addEdge(['ask', 'beside'], 'end')
    .compile();
  const ignoredFields = ['__langgraph'];
  const asked = await walkWithCrashes(() => fromLangGraph(graph), { context: [user('Hello')], ignoredFields });
  t.deepEqual(asked.differences, []);
  t.true(asked.crashes > 0);
  const [first, second] = asked.walked.interrupts;
  const options = { from: asked.walked, ignoredFields };
  const one = await walkWithCrashes(() => fromLangGraph(graph), { ...options, answers: { [first?.id ?? '']: 'yes' } });
  t.deepEqual(one.differences, []);
  const answers = { [first?.id ?? '']: 'yes', [second?.id ?? '']: 'no' };
  const both = await walkWithCrashes(() => fromLangGraph(graph), { ...options, answers });
  t.deepEqual(both.differences, []);
  t.deepEqual(texts(both.walked).slice(-3), ['yes', 'no', 'end']);
});

test('a command of a node changes channels and leads where it says, also out of a sub-graph', async (t) => {
  const inner = new StateGraph(Items)
    .addNode('hands', () => new Command({ graph: Command.PARENT, goto: 'end', update: { items: ['handed'] } }))
    .addEdge(START, 'hands')
    .compile();
  const graph = fromLangGraph(
    new StateGraph(Items)
      .addNode('first', () => new Command({ goto: 'inner', update: { items: ['first'], count: 7 } }), {
        ends: ['inner', 'never'],
      })
      .addNode('never', () => ({ items: ['never'] }))
      .addNode('inner', inner, { ends: ['end'] })
      .addNode('end', ({ items, count }) => ({ messages: [new AIMessage(`${items.join(' ')} ${count}`)] }))
      .addEdge(START, 'first')
      .compile(),
  );
  const { last, steps } = await walkStepByStep(graph, { context: [user('Go')] });
  t.deepEqual(steps, ['first', 'inner', 'end']);
  t.is(texts(last).at(-1), 'first handed 7');
  t.like(last.state.values, { items: ['first', 'handed'], count: 7 });
});

test('nodes beside each other publish under their own names, and what they give stands with them', async (t) => {
  const write = (text: string) => () => ({ messages: [new AIMessage(text)], items: [text] });
  const graph = fromLangGraph(
    new StateGraph(Items)
      .addNode('one', write('From one'))
      .addNode('two', write('From two'))
      .addEdge(START, 'one')
      .addEdge(START, 'two')
      .compile(),
  );
  const chunks: unknown[][] = [];
  const walked = await walk(graph, {
    context: [user('Go')],
    onChunk: (node, { chunk }) => chunks.push([node, chunk]),
  });
  t.deepEqual(walked.steps, [['one', 'two']]);
  t.deepEqual(walked.state.values['items'], ['From one', 'From two']);
  t.deepEqual(chunks.toSorted(), [
    ['one', 'From one'],
    ['two', 'From two'],
  ]);
});
