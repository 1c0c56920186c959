import type { Client, Message, StreamMode } from '@langchain/langgraph-sdk';
import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { graphId, serveLangGraph } from './service.ts';

const exportOf = (name: string): string => agentAt('quick-start').replace(/:graph$/, `:${name}`);
const service = serveLangGraph(
  test,
  {},
  {
    [graphId]: exportOf('graph'),
    stopping: exportOf('stopping'),
    planning: exportOf('planning'),
    showing: exportOf('showing'),
  },
);

interface Values {
  readonly messages: Message[];
  readonly calls?: number;
  readonly topic?: string;
  readonly __interrupt__?: readonly { readonly id: string; readonly value: unknown }[];
}

interface Frame {
  readonly event: string;
  readonly data: unknown;
}

const streamMode: StreamMode[] = ['values', 'updates', 'messages-tuple'];
const human = (content: string) => ({ messages: [{ role: 'human', content }] });

async function streamed(client: Client, threadId: string, assistantId: string, payload: object): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of client.runs.stream(threadId, assistantId, { streamMode, ...payload })) frames.push(frame);
  return frames;
}

const of = (frames: readonly Frame[], event: string): unknown[] =>
  frames.filter((frame) => frame.event === event).map(({ data }) => data);
const lastValues = (frames: readonly Frame[]): Values => of(frames, 'values').at(-1) as Values;
const texts = ({ messages }: Values): unknown[] => messages.map(({ type, content }) => [type, content]);
const answered = [
  ['human', 'How is the weather?'],
  ['ai', 'Let me see. '],
  ['tool', 'It is sunny in Paris.'],
  ['ai', 'It is sunny in Paris.'],
];

test('an agent of LangGraph is streamed by its own client: its nodes, its values, its text', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const frames = await streamed(client, id, graphId, { input: { ...human('How is the weather?'), topic: 'weather' } });
  t.deepEqual(
    of(frames, 'updates').map((data) => Object.keys(data as object)),
    [['agent'], ['tools'], ['agent']],
  );
  const values = lastValues(frames);
  t.deepEqual(texts(values), answered);
  t.deepEqual([values.calls, values.topic, Object.keys(values)], [2, 'weather', ['calls', 'topic', 'messages']]);
  const tuples = of(frames, 'messages') as [Message, { langgraph_node: string }][];
  const text = new Map<string, string>();
  for (const [{ id: message = '', content }, { langgraph_node: node }] of tuples) {
    if (typeof content === 'string') text.set(`${node} ${message}`, (text.get(`${node} ${message}`) ?? '') + content);
  }
  t.deepEqual(
    [...text].map(([key, all]) => [key.split(' ')[0], all]),
    [
      ['agent', 'Let me see. '],
      ['tools', 'It is sunny in Paris.'],
      ['agent', 'It is sunny in Paris.'],
    ],
  );
  t.deepEqual(
    [...text.keys()].map((key) => key.split(' ')[1]),
    values.messages.slice(1).map((message) => message.id),
  );
  const history = await client.threads.getHistory<Values>(id);
  t.deepEqual(
    history.map(({ next }) => next),
    [[], ['agent'], ['tools'], ['agent'], ['__start__']],
  );
});

test('a tool that asks stops the run, and a command resumes it', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const frames = await streamed(client, id, graphId, { input: human('Ask a person') });
  const asked = lastValues(frames).__interrupt__ ?? [];
  t.deepEqual(
    asked.map(({ value }) => value),
    [{ about: 'Paris' }],
  );
  const state = await client.threads.getState<Values>(id);
  t.deepEqual(state.next, ['tools']);
  t.deepEqual(
    state.tasks.map(({ name, interrupts }) => [name, interrupts.map(({ value }) => value)]),
    [['tools', [{ about: 'Paris' }]]],
  );
  t.like(await client.threads.get(id), { status: 'interrupted' });
  const resumed = await streamed(client, id, graphId, { command: { resume: 'It is lovely.' } });
  t.deepEqual(
    of(resumed, 'updates').map((data) => Object.keys(data as object)),
    [['tools'], ['agent']],
  );
  t.deepEqual(texts(lastValues(resumed)).slice(-2), [
    ['tool', 'A person says: It is lovely.'],
    ['ai', 'A person says: It is lovely.'],
  ]);
  t.deepEqual((await client.threads.getState(id)).next, []);
});

for (const [title, assistantId, payload] of [
  ['of the graph', 'stopping', {}],
  ['of the request', graphId, { interruptBefore: ['tools'] }],
] as const)
  test(`a breakpoint ${title} stops before the node, and the run goes on without input`, async (t) => {
    const client = service.client();
    const { thread_id: id } = await client.threads.create();
    const frames = await streamed(client, id, assistantId, { input: human('How is the weather?'), ...payload });
    t.false('__interrupt__' in lastValues(frames));
    t.deepEqual(frames.findLast(({ event }) => event === 'updates')?.data, { __interrupt__: [] });
    t.deepEqual((await client.threads.getState(id)).next, ['tools']);
    const resumed = await streamed(client, id, assistantId, { input: null });
    t.deepEqual(texts(lastValues(resumed)), answered);
  });

test('a state is updated past the graph, and the next run reads it', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  await streamed(client, id, graphId, { input: human('How is the weather?') });
  await client.threads.updateState(id, { values: { topic: 'rain', calls: 3 } });
  const state = await client.threads.getState<Values>(id);
  t.like(state.values, { topic: 'rain', calls: 5 });
  const values = lastValues(await streamed(client, id, graphId, { input: human('And now?') }));
  t.like(values, { topic: 'rain', calls: 7 });
  t.is(values.messages.length, 8);
});

test('a graph is drawn as LangGraph draws it, with its sub-graphs, and shows the schemas that it was made with', async (t) => {
  const client = service.client();
  const assistantOf = async (id: string): Promise<string> =>
    (await client.assistants.search({ graphId: id }))[0]?.assistant_id ?? '';
  const agent = await client.assistants.getGraph(await assistantOf(graphId));
  t.deepEqual(
    agent.nodes.map(({ id }) => id),
    ['__start__', 'agent', 'tools', '__end__'],
  );
  t.deepEqual(agent.edges as unknown[], [
    { source: '__start__', target: 'agent' },
    { source: 'tools', target: 'agent' },
    { source: 'agent', target: 'tools', conditional: true },
    { source: 'agent', target: '__end__', conditional: true },
  ]);
  const planning = await assistantOf('planning');
  const namesAt = async (xray: boolean | number): Promise<unknown[]> =>
    (await client.assistants.getGraph(planning, { xray })).nodes.map(({ id }) => id);
  t.deepEqual(await namesAt(false), ['__start__', 'plan', 'end', '__end__']);
  t.deepEqual(await namesAt(true), ['__start__', 'plan:draft', 'plan:check', 'end', '__end__']);
  t.deepEqual(await namesAt(1), await namesAt(true));
  const { state_schema: state, input_schema: input } = await client.assistants.getSchemas(planning);
  t.like(state, { type: 'object', properties: { topic: { type: 'string' }, steps: { type: 'array' } } });
  t.deepEqual(Object.keys(input?.properties ?? {}), ['topic', 'steps']);
  const { plan } = await client.assistants.getSubgraphs(planning);
  t.like(plan, { state_schema: { properties: { topic: { type: 'string' } } } });
  t.deepEqual(Object.keys(await client.assistants.getSubgraphs(planning, { namespace: 'plan' })), ['plan']);
  t.deepEqual(await client.assistants.getSubgraphs(planning, { namespace: 'end' }), {});
  const { thread_id: id } = await client.threads.create();
  const values = await client.runs.wait(id, 'planning', { input: { topic: 'bees' } });
  t.deepEqual(values as unknown, { messages: [], steps: ['Read about bees'], topic: 'bees' });
  await client.threads.updateState(id, { values: { topic: 'ants' }, asNode: 'end' });
  t.like(await client.threads.getState(id), { values: { topic: 'ants' } as never, next: [] });
  await t.throwsAsync(client.threads.updateState(id, { values: { topic: 'ants' }, asNode: 'plan' }), {
    message: /must be a node after which the graph ends/,
  });
});

test('a node gets what LangGraph Server gives it as configurable, and what its caller has given', async (t) => {
  const client = service.client();
  const { assistant_id: stored } = await client.assistants.create({
    ...{ graphId: 'showing', config: { configurable: { tone: 'dry' } } },
  });
  const { thread_id: id } = await client.threads.create();
  const config = { configurable: { colour: 'blue', thread_id: 'x', run_id: 'y' } };
  for (const [assistant, more] of [
    ['showing', {}],
    [stored, { tone: 'dry' }],
  ] as const) {
    const { seen } = (await client.runs.wait(id, assistant, { input: human('x'), config })) as unknown as {
      readonly seen: Readonly<Record<string, unknown>>;
    };
    const [run] = await client.runs.list(id);
    const { checkpoint_ns: namespace, checkpoint_id: _c, checkpoint_map: _m, idempotency_key: _i, ...own } = seen;
    t.deepEqual(own, {
      ...{ ...more, colour: 'blue', thread_id: id, run_id: run?.run_id, graph_id: 'showing', user: {} },
      ...{ assistant_id: run?.assistant_id, langgraph_auth_user: null, langgraph_auth_user_id: '' },
      langgraph_auth_permissions: [],
    });
    t.true(String(namespace).startsWith('show:'));
    t.is(run?.assistant_id === stored, assistant === stored);
  }
});
