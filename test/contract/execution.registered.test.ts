import test from 'ava';
import { registerAgents } from '@agent-workflow/execution/api/registration';
import { agentsElsewhere, atRevision, namedAgents, type Agents } from '@agent-workflow/execution/record/agents';
import { END, field, interrupt, START, StateGraph, textOf, tool, toolNode } from '@agent-workflow/graph';
import type { CompiledGraph, FieldSpec } from '@agent-workflow/graph';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { StartRequest } from '@agent-workflow/protos/execution';
import { json, parse, user } from './execution/messages.ts';
import { call, endOf, fieldOf, invoke, logOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { openReplicas, type Ground, type Replica, type Replicas } from './replicas.ts';

/** What its JSON Schema says is less than what it checks. */
const even: NonNullable<FieldSpec<unknown>['check']> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => (Number(value) % 2 === 0 ? { value } : { issues: [{ message: 'must be even' }] }),
  },
};

const fields = {
  title: field<string>({ type: 'string', default: 'none', schema: { maxLength: 10 } }),
  pair: field<number>({ type: 'integer', default: 0, check: even }),
  count: field<number>({
    type: 'number',
    default: 0,
    reducer: (sum, more) => {
      if (typeof more !== 'number') throw new Error('only numbers are counted');
      return sum + more;
    },
  }),
};

const viewing = tool(
  { name: 'view', description: 'Views.', parameters: { type: 'object', properties: {} } },
  () => 'seen',
);

/** Emits its name; asks first when it is told to. It has a node of its own name. */
const build = (name: string, more: ConstructorParameters<typeof StateGraph>[0] = {}): CompiledGraph =>
  new StateGraph({ ...fields, ...more })
    .addNode(`talk-${name}`, (state, ctx) => {
      const last = state.context.at(-1);
      const answer = last && textOf(last) === 'ask' ? String(interrupt('sure?')) : '';
      ctx.emit(`${name}${answer}`);
    })
    .addNode('tools', toolNode([viewing]))
    .addEdge(START, `talk-${name}`)
    .addEdge(`talk-${name}`, 'tools')
    .addEdge('tools', END)
    .compile();

type Held = Agents & { readonly revision: string };

const agentsAt = (revision: string, graph = build(revision)): Held => ({
  ...atRevision(namedAgents([{ name: 'support', description: 'Helps.', graph }], undefined), revision),
  revision,
});

interface Opened {
  readonly replicas: Replicas;
  /** A process without code of agents. */
  readonly api: Replica;
  /** Registers a build, gives it new runs, and opens a process that holds it. */
  readonly deploy: (held: Held) => Promise<Replica>;
}

async function openApi(
  replicas: Replicas,
  options: { readonly defaultName?: string; readonly through?: (ground: Ground) => Partial<Ground> } = {},
): Promise<Opened> {
  const { defaultName = 'support', through = () => ({}) } = options;
  return {
    replicas,
    api: await replicas.open({ graph: agentsElsewhere(defaultName === '' ? undefined : defaultName), through }),
    deploy: async (held) => {
      await registerAgents(held, replicas.threads, 'auto');
      return replicas.open({ graph: held });
    },
  };
}

const go = { messages: [user('go')] };
const withState = (state: object): Pick<StartRequest, 'initialStateJson'> => ({ initialStateJson: json(state) });

const answersOf = async ({ threads }: Pick<Replicas, 'threads'>, threadId: string): Promise<string[]> =>
  (await logOf(threads, threadId)).filter(({ role }) => role === 'assistant').map(textOf);

const fieldsAtFault = (error: unknown): unknown => isServiceError(error, 'Invalid') && error.details[0]?.field;

const failureOf = async ({ threads }: Pick<Replicas, 'threads'>, runId: string) =>
  (await threads.getRun({ owner, runId }, call())).end?.error;

test('a process without agents accepts runs of those that are registered, and a worker drives them', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  await deploy(agentsAt('a'));
  await invoke(api.execution, { ...go, threadId: 't1', agent: 'support' });
  await invoke(api.execution, { ...go, threadId: 't1' });
  const { meta } = await invoke(api.execution, go);
  t.deepEqual(await answersOf(replicas, 't1'), ['a', 'a']);
  const { runs } = await replicas.threads.listRuns({ owner, threadId: meta.thread_id, limit: 1, offset: 0 }, call());
  t.like(runs[0], { agent: 'support', revision: 'a', status: 'completed' });
});

test('an agent that is not registered is absent, also when it is the default; without a default one has to be named', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas, { defaultName: 'sales' });
  await deploy(agentsAt('a'));
  const absent = { code: 'NotFound', message: 'there is no agent named "sales"' };
  await t.throwsAsync(start(api.execution, go), absent);
  await t.throwsAsync(start(api.execution, { ...go, agent: 'sales' }), absent);
  await t.throwsAsync(start(api.execution, { ...go, agent: 'Sales!' }), { code: 'Invalid' });
  await t.throwsAsync(api.execution.getGraph({}, call()), absent);
  const other = await openApi(replicas, { defaultName: '' });
  await t.throwsAsync(start(other.api.execution, go), { code: 'NotFound', message: /no agent is the default/ });
  await invoke(other.api.execution, { ...go, threadId: 't1', agent: 'support' });
  t.deepEqual(await answersOf(replicas, 't1'), ['a']);
});

test('an initial state is checked by what is registered, and reducers are left to the worker', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  await deploy(agentsAt('a'));
  for (const [state, name] of [
    [{ title: 1 }, 'title'],
    [{ title: 'longer than ten' }, 'title'],
    [{ pair: 0.5 }, 'pair'],
    [{ other: 1 }, 'other'],
    [{ context_summary: 1 }, 'context_summary'],
  ] as const) {
    const error = await t.throwsAsync(start(api.execution, { ...go, threadId: 't1', ...withState(state) }));
    t.deepEqual(fieldsAtFault(error), ['initialState', name]);
  }
  await t.throwsAsync(replicas.threads.getThread({ owner, threadId: 't1' }, call()), { code: 'NotFound' });
  for (const turn of [1, 2])
    await invoke(api.execution, { ...go, threadId: 't2', ...withState({ title: `turn ${turn}`, count: 2, pair: 4 }) });
  t.deepEqual(await Promise.all(['title', 'count', 'pair'].map((name) => fieldOf(replicas.threads, 't2', name))), [
    'turn 2',
    4,
    4,
  ]);
});

test('what a reducer or a check of the agent does not take fails the run, which names the field and writes none', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  await deploy(agentsAt('a'));
  for (const [index, [state, message]] of [
    [{ title: 'x', count: 'many' }, /^initial_state: the reducer of field "count" failed: an unexpected error/],
    [{ title: 'x', pair: 3 }, /^initial_state: field "pair" .*must be even/],
  ].entries() as IterableIterator<[number, [object, RegExp]]>) {
    const threadId = `t${index}`;
    const { runId } = await start(api.execution, { ...go, threadId, ...withState(state) });
    t.is((await endOf(api.execution, runId)).event, 'error');
    const error = await failureOf(replicas, runId);
    t.is(error?.code, 'BadRequest');
    t.regex(error?.message ?? '', message);
    const { fields: written } = await replicas.threads.getState({ owner, threadId }, call());
    t.deepEqual(Object.keys(written), []);
  }
});

test('tools of the caller are checked by the tools and nodes that are registered', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  await deploy(agentsAt('a'));
  const toolNamed = (name: string, nodeName = '') => ({
    ...{ name, nodeName, description: '', parametersJson: json({ type: 'object' }) },
  });
  const check = async (name: string, nodeName?: string) =>
    api.execution.checkTools({ tools: [toolNamed(name, nodeName)], agent: 'support' }, call());
  await t.throwsAsync(check('view'), { message: /"view" is a tool of the server/ });
  await t.throwsAsync(check('own', 'nowhere'), { message: /the graph has no node "nowhere"/ });
  t.deepEqual(await check('own', 'tools'), {});
  await t.throwsAsync(start(api.execution, { ...go, tools: [toolNamed('view')] }), { code: 'Invalid' });
});

test('agents are listed and described as they are registered, at the revision that new runs get', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  const held = await deploy(agentsAt('a'));
  await registerAgents(agentsAt('b'), replicas.threads, 'none');
  const { agents } = await api.execution.listAgents({}, call());
  t.deepEqual(
    agents.map(({ name, description, isDefault }) => [name, description, isDefault]),
    [['support', 'Helps.', true]],
  );
  const own = await held.execution.getAgent({ agent: 'support' }, call());
  const registered = await api.execution.getAgent({ agent: 'support' }, call());
  t.deepEqual(parse(registered.toolsJson), parse(own.toolsJson));
  t.deepEqual(parse(registered.graph?.graphJson), parse(own.graph?.graphJson));
  t.deepEqual(parse(registered.graph?.fieldsJson), parse(own.graph?.fieldsJson));
  t.deepEqual(await api.execution.getGraph({}, call()), registered.graph);
});

test('a request is checked by the revision that serves its run, whatever was known before', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  const text = field<string>({ type: 'string' });
  await deploy(agentsAt('a', build('a', { only_a: text })));
  const asked = await invoke(api.execution, { messages: [user('ask')], threadId: 't1', ...withState({ only_a: 'x' }) });
  t.is(asked.meta.status, 'interrupted');
  await deploy(agentsAt('b', build('b', { only_b: text })));
  // The process knows only of the first revision by now.
  await invoke(api.execution, { ...go, threadId: 't2' });
  await t.throwsAsync(start(api.execution, { ...go, threadId: 't3', ...withState({ only_a: 'x' }) }), {
    code: 'Invalid',
    message: /only_a/,
  });
  await invoke(api.execution, { ...go, threadId: 't3', ...withState({ only_b: 'y' }) });
  // An answer goes back to the revision that asked.
  const answer = { messages: [], threadId: 't1', resumeJson: json('!') };
  await t.throwsAsync(start(api.execution, { ...answer, ...withState({ only_b: 'y' }) }), {
    code: 'Invalid',
    message: /only_b/,
  });
  await invoke(api.execution, { ...answer, ...withState({ only_a: 'y' }) });
  t.is(await fieldOf(replicas.threads, 't1', 'only_a'), 'y');
  t.deepEqual(await Promise.all(['t1', 't2', 't3'].map((id) => answersOf(replicas, id))), [['a!'], ['b'], ['b']]);
});

test('an answer to a node that the serving revision lacks is refused, and changes nothing', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  await deploy(agentsAt('a'));
  await invoke(api.execution, { messages: [user('ask')], threadId: 't1' });
  await deploy(agentsAt('b'));
  await replicas.threads.retireRevision({ agent: 'support', revision: 'a' }, call());
  const before = await replicas.threads.getState({ owner, threadId: 't1' }, call());
  await t.throwsAsync(start(api.execution, { messages: [], threadId: 't1', resumeJson: json('!') }), {
    code: 'Conflict',
    message: /waits at node "talk-a", which the agent no longer has/,
  });
  t.deepEqual(await replicas.threads.getState({ owner, threadId: 't1' }, call()), before);
  await invoke(api.execution, { ...go, threadId: 't1' });
  t.deepEqual(await answersOf(replicas, 't1'), ['b']);
});

test('a write of state is made without the code, and what needs code is reduced and checked by a worker', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  const worker = await deploy(agentsAt('a'));
  await invoke(api.execution, { ...go, threadId: 't1' });
  const write = async (state: object, by = api) =>
    by.execution.updateState({ owner, threadId: 't1', stateJson: json(state) }, call());
  const written = await write({ title: 'mine', context_summary: 'short', context: [{ role: 'user', content: 'hm' }] });
  t.deepEqual(parse(written.fields['title']), 'mine');
  t.deepEqual(parse(written.fields['context_summary']), 'short');
  t.is((parse(written.contextJson) as unknown[]).length, 3);
  for (const state of [{ title: 1 }, { title: 'longer than ten' }, { other: 1 }, { pair: 'x' }])
    t.deepEqual(fieldsAtFault(await t.throwsAsync(write(state))), ['state', Object.keys(state)[0]]);
  for (const count of [2, 3]) await write({ title: `by ${count}`, count, pair: 4 });
  const valuesOf = async () =>
    Promise.all(['title', 'count', 'pair'].map((name) => fieldOf(replicas.threads, 't1', name)));
  t.deepEqual(await valuesOf(), ['by 3', 5, 4]);
  // A refusal is the same as where the code is, and nothing of it is written.
  for (const state of [
    { title: 'yours', count: 'many' },
    { title: 'yours', pair: 3 },
  ]) {
    const [here, there] = [await t.throwsAsync(write(state)), await t.throwsAsync(write(state, worker))];
    t.is(here.message, there.message);
    t.deepEqual(fieldsAtFault(here), ['state', Object.keys(state)[1]]);
    t.deepEqual(fieldsAtFault(here), fieldsAtFault(there));
  }
  t.deepEqual(await valuesOf(), ['by 3', 5, 4]);
});

test('of a reply to a write only fields with a reducer are taken, with values that fit: another reply is refused, and nothing is written', async (t) => {
  await using replicas = await openReplicas();
  const { api: usual, deploy } = await openApi(replicas);
  const seen = field<string[]>({
    type: 'array',
    schema: { items: { type: 'string' } },
    default: [],
    reducer: (all, more) => [...all, ...more],
  });
  await deploy(agentsAt('a', build('a', { seen })));
  let reply: Readonly<Record<string, unknown>> | undefined;
  const warnings: Readonly<Record<string, unknown>>[] = [];
  const api = await replicas.open({
    graph: agentsElsewhere('support'),
    through: ({ codeCalls }) => ({
      codeCalls: {
        ...codeCalls,
        reduce: async () =>
          Promise.resolve(
            reply && Object.fromEntries(Object.entries(reply).map(([name, value]) => [name, json(value)])),
          ),
      },
    }),
    onWarning: (line) => void warnings.push(line),
  });
  await invoke(usual.execution, { ...go, threadId: 't1' });
  const write = async () =>
    api.execution.updateState({ owner, threadId: 't1', stateJson: json({ title: 'mine', seen: ['a'] }) }, call());
  const before = await replicas.threads.getState({ owner, threadId: 't1' }, call());
  for (reply of [
    undefined,
    {},
    { seen: ['a'] },
    { title: 'mine', seen: ['a'], pair: 2 },
    { title: 'mine', seen: 'not-an-array' },
    { title: 'mine', seen: [1] },
  ])
    await t.throwsAsync(write(), {
      code: 'Unavailable',
      message: 'the reply of a worker of agent "support@a" to the write cannot be used: try again later',
    });
  t.deepEqual(await replicas.threads.getState({ owner, threadId: 't1' }, call()), before);
  const logged = warnings.filter(({ fault }) => fault !== undefined);
  t.deepEqual(logged, [{ agent: 'support', revision: 'a', fault: 'it is no reply' }]);
  reply = { title: 'not given', seen: ['of the worker'] };
  await write();
  const valuesOf = await Promise.all(['title', 'seen'].map((name) => fieldOf(replicas.threads, 't1', name)));
  t.deepEqual(valuesOf, ['mine', ['of the worker']]);
});

test('writes of one thread by several processes are all made, though workers reduce them', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  await deploy(agentsAt('a'));
  const { api: other } = await openApi(replicas);
  await invoke(api.execution, { ...go, threadId: 't1' });
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) =>
      (index % 2 === 0 ? api : other).execution.updateState(
        { owner, threadId: 't1', stateJson: json({ count: 1 }) },
        call(),
      ),
    ),
  );
  t.is(await fieldOf(replicas.threads, 't1', 'count'), 20);
});

test('a write that needs code waits for no worker: without one it is refused and says so, and a run that holds the thread refuses it as ever', async (t) => {
  await using replicas = await openReplicas();
  const { api, deploy } = await openApi(replicas);
  const write = async (state: object) =>
    api.execution.updateState({ owner, threadId: 't1', stateJson: json(state) }, call());
  await registerAgents(agentsAt('a'), replicas.threads, 'auto');
  const { runId } = await start(api.execution, { ...go, threadId: 't1' });
  await t.throwsAsync(write({ title: 'mine' }), { code: 'Conflict' });
  await api.execution.stopRun({ owner, runId }, call());
  await t.throwsAsync(write({ title: 'mine', count: 1 }), {
    code: 'Unavailable',
    message: /^no worker of agent "support" at revision "a" is there/,
  });
  await write({ title: 'mine' });
  const worker = await deploy(agentsAt('a'));
  await write({ title: 'yours', count: 1 });
  await worker.drain(1000);
  await t.throwsAsync(write({ count: 1 }), { code: 'Unavailable' });
  t.is(await fieldOf(replicas.threads, 't1', 'count'), 1);
});

test('a run that is stopped ends with the state that its revision declares', async (t) => {
  await using replicas = await openReplicas();
  const { api } = await openApi(replicas);
  await registerAgents(agentsAt('a'), replicas.threads, 'auto');
  const { runId } = await start(api.execution, { ...go, threadId: 't1', granularity: 'full' });
  await api.execution.stopRun({ owner, runId }, call());
  const result = resultOf(await endOf(api.execution, runId));
  t.is(result.meta.status, 'stopped');
  t.like(result.state, { title: 'none', count: 0 });
});
