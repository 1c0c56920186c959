import test from 'ava';
import { namedAgents, unnamedAgent, type Agents } from '@agent-workflow/execution/record/agents';
import { END, field, interrupt, START, StateGraph, type CompiledGraph } from '@agent-workflow/graph';
import { notFound } from '@agent-workflow/kit/errors';
import { textOf } from '@agent-workflow/protos/message';
import { json, parse, user } from './execution/messages.ts';
import { call, endOf, fieldOf, invoke, logOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { until } from '../until.ts';
import { openReplicas, withoutTaking, type Ground, type Replicas } from './replicas.ts';

const count = field<number>({ type: 'number', default: 0, reducer: (sum, more) => sum + more });
const steps = field<string[]>({ type: 'array', default: ['none'], reducer: (before, more) => [...before, ...more] });

/** Says its name, and asks first when it is told to. */
const named = (name: string, fields: ConstructorParameters<typeof StateGraph>[0]): CompiledGraph =>
  new StateGraph(fields)
    .addNode(`${name}-node`, (state, ctx) => {
      const last = state.context.at(-1);
      const answer = last && textOf(last) === 'ask' ? String(interrupt('sure?')) : '';
      ctx.emit(`${name}${answer}`);
    })
    .addEdge(START, `${name}-node`)
    .addEdge(`${name}-node`, END)
    .compile();

const support = { name: 'support', graph: named('support', { count }) };
const billing = { name: 'billing', description: 'Sends bills.', graph: named('billing', { steps }) };
const both = namedAgents([billing, support], 'support');

const answersOf = async ({ threads }: Pick<Replicas, 'threads'>, threadId: string): Promise<string[]> =>
  (await logOf(threads, threadId)).filter(({ role }) => role === 'assistant').map(textOf);

const go = { messages: [user('go')] };

test('a request names the agent, or gets that of its thread, or the default', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: both });
  await invoke(execution, { ...go, threadId: 't1', agent: 'billing' });
  await invoke(execution, { ...go, threadId: 't1' });
  await invoke(execution, { ...go, threadId: 't1', agent: 'billing' });
  await invoke(execution, { ...go, threadId: 't2' });
  t.deepEqual(await answersOf(replicas, 't1'), ['billing', 'billing', 'billing']);
  t.deepEqual(await answersOf(replicas, 't2'), ['support']);
  t.is((await replicas.threads.getThread({ owner, threadId: 't2' }, call())).agent, 'support');
});

test('an agent that there is not, a name that is none, and another than the thread has are refused', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: both });
  await invoke(execution, { ...go, threadId: 't1', agent: 'billing' });
  await t.throwsAsync(start(execution, { ...go, agent: 'nobody' }), {
    message: 'there is no agent named "nobody"',
    code: 'NotFound',
  });
  const error = await t.throwsAsync(start(execution, { ...go, agent: 'No Body' }), { code: 'Invalid' });
  t.deepEqual((error as { details?: readonly { field: unknown }[] }).details?.[0]?.field, ['config', 'agent']);
  await t.throwsAsync(start(execution, { ...go, threadId: 't1', agent: 'support' }), {
    message: 'thread "t1" belongs to the agent "billing"',
    code: 'Conflict',
  });
  t.deepEqual(await answersOf(replicas, 't1'), ['billing']);
});

test('without a default a new thread has to name its agent', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: namedAgents([billing, support], undefined) });
  await t.throwsAsync(start(execution, go), { code: 'NotFound', message: /no agent is the default/ });
  await invoke(execution, { ...go, threadId: 't1', agent: 'billing' });
  await invoke(execution, { ...go, threadId: 't1' });
  t.deepEqual(await answersOf(replicas, 't1'), ['billing', 'billing']);
});

test('initial state and updates pass the fields and reducers of the thread’s own agent', async (t) => {
  await using replicas = await openReplicas();
  const { execution, threads } = { ...(await replicas.open({ graph: both })), ...replicas };
  const initialStateJson = (value: object): { readonly initialStateJson: Uint8Array } => ({
    initialStateJson: json(value),
  });
  await invoke(execution, { ...go, threadId: 't1', agent: 'billing', ...initialStateJson({ steps: ['a'] }) });
  await invoke(execution, { ...go, threadId: 't1', ...initialStateJson({ steps: ['b'] }) });
  t.deepEqual(await fieldOf(threads, 't1', 'steps'), ['none', 'a', 'b']);
  await t.throwsAsync(start(execution, { ...go, threadId: 't1', ...initialStateJson({ count: 1 }) }), {
    code: 'Invalid',
  });
  const state = await execution.updateState({ owner, threadId: 't1', stateJson: json({ steps: ['c'] }) }, call());
  t.deepEqual(parse(state.fields['steps']), ['none', 'a', 'b', 'c']);
  t.is(state.agent, 'billing');
  await t.throwsAsync(execution.updateState({ owner, threadId: 't1', stateJson: json({ count: 1 }) }, call()), {
    code: 'Invalid',
  });
});

test('a stored value of a field whose type was changed is given to nodes as it is until it is written anew, and one that is not declared stays unread', async (t) => {
  await using replicas = await openReplicas();
  const before = await replicas.open({
    graph: named('support', { note: field<string>({ type: 'string' }), old: field<string>({ type: 'string' }) }),
  });
  const initialStateJson = json({ note: 'tea', old: 'x' });
  await invoke(before.execution, { ...go, threadId: 't1', initialStateJson });
  before.kill();
  const read: unknown[] = [];
  const changed = new StateGraph({ note: field<readonly string[]>({ type: 'array' }) })
    .addNode('support-node', ({ note, ...state }) => {
      read.push(note, 'old' in state);
      return read.length === 2 ? {} : { note: ['milk'] };
    })
    .addEdge(START, 'support-node')
    .compile();
  const { execution } = await replicas.open({ graph: changed });
  for (let turn = 0; turn < 3; turn++) await invoke(execution, { ...go, threadId: 't1' });
  t.deepEqual(read, ['tea', false, 'tea', false, ['milk'], false]);
  t.is(await fieldOf(replicas.threads, 't1', 'old'), 'x');
});

/** The thread is made by another request between the look at it and the acceptance. */
const unseen = ({ threads }: Ground): Partial<Ground> => ({
  threads: { ...threads, getThread: async () => Promise.reject(notFound('thread "t1" does not exist')) },
});

test('a thread that is made meanwhile has the last word on the agent', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: both, through: unseen });
  await invoke(execution, { ...go, threadId: 't1', agent: 'billing' });
  await invoke(execution, { ...go, threadId: 't1', initialStateJson: json({}) });
  t.deepEqual(await answersOf(replicas, 't1'), ['billing', 'billing']);
});

test('a worker drives the runs that it takes from the queue by their agents', async (t) => {
  await using replicas = await openReplicas();
  const api = await replicas.open({ graph: both, env: { RUN_CONCURRENCY: '1' }, through: queued });
  for (const agent of ['billing', 'support', 'billing']) {
    const { runId } = await start(api.execution, { ...go, threadId: `of-${agent}`, agent });
    t.is(resultOf(await endOf(api.execution, runId)).meta.status, 'completed');
  }
  t.deepEqual(await answersOf(replicas, 'of-billing'), ['billing', 'billing']);
  t.deepEqual(await answersOf(replicas, 'of-support'), ['support']);
});

/** Accepted runs wait in the queue, so that each is claimed by a call of its own. */
const queued = ({ threads }: Ground): Partial<Ground> => ({
  threads: { ...threads, acceptRun: async ({ claim: _, ...request }, at) => threads.acceptRun(request, at) },
});

test('a run waits for a worker that holds its agent', async (t) => {
  await using replicas = await openReplicas();
  const api = await replicas.open({ graph: both, through: withoutTaking });
  const supporter = await replicas.open({ graph: namedAgents([support], 'support') });
  const alone = await replicas.open({ graph: unnamedAgent(support.graph) });
  const { runId } = await start(api.execution, { ...go, threadId: 't1', agent: 'billing' });
  const holder: Agents = namedAgents([billing], undefined);
  await supporter.drain(0);
  await alone.drain(0);
  t.not((await replicas.threads.getRun({ owner, runId }, call())).status, 'failed');
  const { execution } = await replicas.open({ graph: holder, sweepMs: 10 });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(await answersOf(replicas, 't1'), ['billing']);
});

test('a run that is in the queue of another agent is given to the workers of its own', async (t) => {
  await using replicas = await openReplicas();
  const asOlderReplica = (ground: Ground): Partial<Ground> => ({
    queue: { ...withoutTaking(ground).queue, enqueue: async ({ agent: _, ...run }) => ground.queue.enqueue(run) },
  });
  const api = await replicas.open({
    graph: both,
    through: (ground) => ({ ...queued(ground), ...asOlderReplica(ground) }),
  });
  const { runId } = await start(api.execution, { ...go, threadId: 't1', agent: 'billing' });
  await replicas.open({ graph: namedAgents([{ ...support, name: 'default' }], undefined) });
  await until(() => replicas.queue.waiting('billing') === 1);
  await replicas.open({ graph: namedAgents([billing], undefined) });
  t.is(resultOf(await endOf(api.execution, runId)).meta.status, 'completed');
  t.deepEqual(await answersOf(replicas, 't1'), ['billing']);
});

test('an agent whose runs wait in great number is refused more, and the others are not', async (t) => {
  await using replicas = await openReplicas();
  const env = { RUN_BACKLOG: '8' };
  const api = await replicas.open({
    graph: both,
    env,
    through: (ground) => ({ ...queued(ground), ...withoutTaking(ground) }),
  });
  for (const threadId of ['t1', 't2']) await start(api.execution, { ...go, threadId, agent: 'billing' });
  await t.throwsAsync(start(api.execution, { ...go, threadId: 't3', agent: 'billing' }), {
    code: 'Unavailable',
    message: '2 runs of the agent "billing" wait already, which is the limit of one agent',
  });
  await start(api.execution, { ...go, threadId: 't3', agent: 'support' });
  t.deepEqual(
    replicas.queue.backlogs().map(({ agent, waiting }) => [agent, waiting]),
    [
      ['billing', 2],
      ['support', 1],
    ],
  );
});

test('a run that waits too long for a worker fails once, and says which agent had none', async (t) => {
  await using replicas = await openReplicas();
  const env = { QUEUE_TTL: '1' };
  const supporter = namedAgents([support], 'support');
  // Both replicas sweep. Neither takes runs of the other agent.
  await replicas.open({ graph: supporter, sweepMs: 20, env });
  const { execution } = await replicas.open({
    graph: both,
    ...{ sweepMs: 20, env },
    through: (ground) => ({ ...queued(ground), ...withoutTaking(ground) }),
  });
  const { runId } = await start(execution, { ...go, threadId: 't1', agent: 'billing' });
  const next = await start(execution, { ...go, threadId: 't1', agent: 'billing' });
  const message = 'no worker of the agent "billing" took the run within 1 s';
  t.is((await execution.wait({ owner, runId }, call())).kind, 'error');
  t.is((await replicas.threads.getRun({ owner, runId }, call())).end?.error?.message, message);
  await replicas.open({ graph: namedAgents([billing], undefined) });
  t.is(resultOf(await endOf(execution, next.runId)).meta.status, 'completed');
  t.deepEqual(await answersOf(replicas, 't1'), ['billing']);
});

test('a sleeping run wakes at a worker of its agent', async (t) => {
  await using replicas = await openReplicas();
  const napping = new StateGraph({})
    .addNode('nap', async (_, ctx) => {
      await ctx.sleep(1);
      ctx.emit('awake');
    })
    .addEdge(START, 'nap')
    .addEdge('nap', END)
    .compile();
  const agents = namedAgents([{ name: 'napper', graph: napping }, support], 'support');
  const { execution } = await replicas.open({ graph: agents });
  const { runId } = await start(execution, { ...go, threadId: 't1', agent: 'napper' });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(await answersOf(replicas, 't1'), ['awake']);
});

test('a run of a dead worker is taken over by its agent, and an answer goes on with it', async (t) => {
  await using replicas = await openReplicas();
  const first = await replicas.open({ graph: both, env: { LEASE_MS: '500' } });
  const asked = await invoke(first.execution, { messages: [user('ask')], threadId: 't1', agent: 'billing' });
  t.is(asked.meta.status, 'interrupted');
  first.kill();
  const second = await replicas.open({ graph: both, sweepMs: 10 });
  const { runId } = await start(second.execution, { messages: [], threadId: 't1', resumeJson: json('!') });
  t.is(resultOf(await endOf(second.execution, runId)).meta.status, 'completed');
  t.deepEqual(await answersOf(replicas, 't1'), ['billing!']);
});

test('agents are listed, the default first, and each is described', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: both });
  const { agents } = await execution.listAgents({}, call());
  t.deepEqual(
    agents.map(({ name, isDefault, description, graph }) => [name, isDefault, description, graph]),
    [
      ['support', true, undefined, undefined],
      ['billing', false, 'Sends bills.', undefined],
    ],
  );
  const { graph } = await execution.getAgent({ agent: 'billing' }, call());
  t.true('steps' in (parse(graph?.fieldsJson) as object));
  t.true('count' in (parse((await execution.getGraph({}, call())).fieldsJson) as object));
  await t.throwsAsync(execution.getAgent({ agent: 'nobody' }, call()), { code: 'NotFound' });
});

test('a single agent without a name is called default, and leaves the name in a request to its nodes', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: support.graph });
  await invoke(execution, { ...go, threadId: 't1', agent: 'whatever it is' });
  t.deepEqual(await answersOf(replicas, 't1'), ['support']);
  t.is((await replicas.threads.getThread({ owner, threadId: 't1' }, call())).agent, 'default');
  t.deepEqual(
    (await execution.listAgents({}, call())).agents.map(({ name, isDefault }) => [name, isDefault]),
    [['default', true]],
  );
});
