import test from 'ava';
import { registerAgents, unregisteredAgents } from '@agent-workflow/execution/api/registration';
import { atRevision, namedAgents, type Agents } from '@agent-workflow/execution/record/agents';
import { END, field, interrupt, START, StateGraph, type CompiledGraph } from '@agent-workflow/graph';
import { textOf } from '@agent-workflow/protos/message';
import { json, user } from './execution/messages.ts';
import { call, endOf, invoke, logOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { createRegistry } from '@agent-workflow/execution/record/registry';
import { createRetiredSleepers } from '@agent-workflow/execution/worker/retired-sleepers';
import { until } from '../until.ts';
import { openReplicas, withoutTaking, type Replicas } from './replicas.ts';

/** Emits its name; asks first when it is asked to. */
const build = (name: string): CompiledGraph =>
  new StateGraph({})
    .addNode('talk', (state, ctx) => {
      const last = state.context.at(-1);
      const answer = last && textOf(last) === 'ask' ? String(interrupt('sure?')) : '';
      ctx.emit(`${name}${answer}`);
    })
    .addNode(`only-${name}`, () => undefined)
    .addEdge(START, 'talk')
    .addEdge('talk', `only-${name}`)
    .addEdge(`only-${name}`, END)
    .compile();

const agentsAt = (revision: string): Agents & { readonly revision: string } => ({
  ...atRevision(namedAgents([{ name: 'support', graph: build(revision) }], 'support'), revision),
  revision,
});

const go = { messages: [user('go')] };

const answersOf = async ({ threads }: Pick<Replicas, 'threads'>, threadId: string): Promise<string[]> =>
  (await logOf(threads, threadId)).filter(({ role }) => role === 'assistant').map(textOf);

test('runs are driven by workers of their revision, and new ones go where they are routed', async (t) => {
  await using replicas = await openReplicas();
  const [a, b] = [agentsAt('a'), agentsAt('b')];
  await registerAgents(a, replicas.threads, 'auto');
  const old = await replicas.open({ graph: a });
  await invoke(old.execution, { ...go, threadId: 't1' });
  await registerAgents(b, replicas.threads, 'auto');
  // It is accepted where its revision is not held, and driven elsewhere.
  const { runId } = await start(old.execution, { ...go, threadId: 't1' });
  await old.drain(1000);
  const next = await replicas.open({ graph: b });
  await endOf(next.execution, runId);
  t.deepEqual(await answersOf(replicas, 't1'), ['a', 'b']);
  const { runs } = await replicas.threads.listRuns({ owner, threadId: 't1', limit: 10, offset: 0 }, call());
  t.deepEqual(
    runs.map(({ revision }) => revision),
    ['b', 'a'],
  );
});

test('an answer goes on in the build that asked', async (t) => {
  await using replicas = await openReplicas();
  const [a, b] = [agentsAt('a'), agentsAt('b')];
  await registerAgents(a, replicas.threads, 'auto');
  const old = await replicas.open({ graph: a });
  await invoke(old.execution, { messages: [user('ask')], threadId: 't1' });
  await registerAgents(b, replicas.threads, 'auto');
  await invoke(old.execution, { messages: [], threadId: 't1', resumeJson: json('!') });
  const next = await replicas.open({ graph: b });
  await invoke(next.execution, { ...go, threadId: 't2' });
  t.deepEqual([await answersOf(replicas, 't1'), await answersOf(replicas, 't2')], [['a!'], ['b']]);
});

test('a run waits for a worker of its revision; it moves to the current one when its own is retired', async (t) => {
  await using replicas = await openReplicas();
  const [a, b] = [agentsAt('a'), agentsAt('b')];
  await registerAgents(a, replicas.threads, 'auto');
  const api = await replicas.open({ graph: a, through: withoutTaking, env: { RUN_CONCURRENCY: '1' } });
  await api.drain(0);
  const { runId } = await start(api.execution, { ...go, threadId: 't1' });
  await registerAgents(b, replicas.threads, 'auto');
  const early = await replicas.open({ graph: b });
  await invoke(early.execution, { ...go, threadId: 't2' });
  t.is((await replicas.threads.getRun({ owner, runId }, call())).status, 'queued');
  await replicas.threads.retireRevision({ agent: 'support', revision: 'a' }, call());
  const { execution } = await replicas.open({ graph: b });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(await answersOf(replicas, 't1'), ['b']);
});

test('a worker of another build of a registered revision does not start; of an unregistered one it does', async (t) => {
  await using replicas = await openReplicas();
  t.deepEqual(await unregisteredAgents(agentsAt('a'), replicas.threads), ['support']);
  await registerAgents(agentsAt('a'), replicas.threads, 'none');
  t.deepEqual(await unregisteredAgents(agentsAt('a'), replicas.threads), []);
  const other = atRevision(namedAgents([{ name: 'support', graph: build('x') }], 'support'), 'a');
  await t.throwsAsync(replicas.open({ graph: other }), {
    name: 'ConfigError',
    message: /revision "a" of agent "support" is registered with another schema/,
  });
  const warnings: unknown[] = [];
  await replicas.open({ graph: agentsAt('b'), onWarning: (text) => void warnings.push(text) });
  t.is(warnings.length, 1);
});

test('a registration without routing leaves new runs where they are', async (t) => {
  await using replicas = await openReplicas();
  await registerAgents(agentsAt('a'), replicas.threads, 'auto');
  await registerAgents(agentsAt('b'), replicas.threads, 'none');
  const { routing } = await replicas.threads.getRegisteredAgent({ agent: 'support' }, call());
  t.deepEqual(routing, { version: 1, current: 'a' });
});

/** Sleeps for an hour, then ends. */
const sleeping: CompiledGraph = new StateGraph({})
  .addNode('sleeper', async (_state, { sleep }) => sleep(3_600_000))
  .addEdge(START, 'sleeper')
  .addEdge('sleeper', END)
  .compile();

const sleepingAt = (revision: string) => ({
  ...atRevision(namedAgents([{ name: 'support', graph: sleeping }], 'support'), revision),
  revision,
});

const statusOf = async ({ threads }: Pick<Replicas, 'threads'>, runId: string): Promise<string> =>
  (await threads.getRun({ owner, runId }, call())).status;

test('a sleeping run of a revision that is retired ends before its time, says why, and leaves its thread to the next run', async (t) => {
  await using replicas = await openReplicas();
  await registerAgents(sleepingAt('a'), replicas.threads, 'auto');
  const old = await replicas.open({ graph: sleepingAt('a') });
  const { runId } = await start(old.execution, { ...go, threadId: 't1' });
  await until(async () => (await statusOf(replicas, runId)) === 'sleeping');
  await old.drain(0);
  await registerAgents(agentsAt('b'), replicas.threads, 'auto');
  const { execution } = await replicas.open({ graph: agentsAt('b'), sweepMs: 20 });
  const next = await start(execution, { ...go, threadId: 't1' });
  t.is(await statusOf(replicas, next.runId), 'queued');
  await replicas.threads.retireRevision({ agent: 'support', revision: 'a' }, call());
  t.is((await endOf(execution, runId)).event, 'error');
  const { end, revision } = await replicas.threads.getRun({ owner, runId }, call());
  t.like(end, { status: 'failed', error: { code: 'Conflict' } });
  t.regex(end?.error?.message ?? '', /revision "a" of the agent was retired/);
  t.is(revision, 'a');
  t.is(resultOf(await endOf(execution, next.runId)).meta.status, 'completed');
});

test('runs of a revision that serves sleep on while another one is retired', async (t) => {
  await using replicas = await openReplicas();
  await registerAgents(sleepingAt('a'), replicas.threads, 'auto');
  await registerAgents(agentsAt('b'), replicas.threads, 'none');
  const { execution } = await replicas.open({ graph: sleepingAt('a') });
  const { runId } = await start(execution, { ...go, threadId: 't1' });
  await until(async () => (await statusOf(replicas, runId)) === 'sleeping');
  await replicas.threads.retireRevision({ agent: 'support', revision: 'b' }, call());
  let at = 0;
  const enqueued: unknown[] = [];
  const registry = createRegistry(replicas.threads);
  const pass = createRetiredSleepers({
    ...{ threads: replicas.threads, registry, elapsed: () => at },
    queue: { enqueue: async (run) => Promise.resolve(void enqueued.push(run)) },
  });
  await registry.read();
  await pass();
  at = 60_000;
  await pass();
  t.deepEqual(enqueued, []);
  // The next retirement is looked at again, though the passes for the one before are done.
  await registerAgents(agentsAt('b2'), replicas.threads, 'auto');
  await replicas.threads.retireRevision({ agent: 'support', revision: 'a' }, call());
  await registry.read();
  await pass();
  t.deepEqual(enqueued, [{ owner, threadId: 't1', runId, agent: 'support' }]);
});

test('a process without a revision says of which registered revisions it drives no run', async (t) => {
  await using replicas = await openReplicas();
  const warnings: Readonly<Record<string, unknown>>[] = [];
  const open = async (name: string) =>
    replicas.open({
      graph: namedAgents([{ name, graph: build('x') }], name),
      onWarning: (line) => void warnings.push(line),
    });
  await open('support');
  t.deepEqual(warnings, []);
  await registerAgents(agentsAt('a'), replicas.threads, 'auto');
  await registerAgents(agentsAt('b'), replicas.threads, 'auto');
  await open('other');
  t.deepEqual(warnings, []);
  await open('support');
  t.deepEqual(warnings, [{ revisions: ['support a', 'support b'], count: 2 }]);
});

test('a run whose worker writes a value of another type than its field fails with the name of the field, and is not driven again', async (t) => {
  await using replicas = await openReplicas();
  let driven = 0;
  const graph = new StateGraph({ title: field<string>({ type: 'string' }) })
    .addNode('name', () => {
      driven++;
      return { title: 'a' };
    })
    .addEdge(START, 'name')
    .addEdge('name', END)
    .compile();
  const agents = { ...atRevision(namedAgents([{ name: 'support', graph }], 'support'), 'a'), revision: 'a' };
  await registerAgents(agents, replicas.threads, 'auto');
  const { execution } = await replicas.open({
    graph: agents,
    through: ({ threads }) => ({
      threads: {
        ...threads,
        commitStep: async (request, at) =>
          threads.commitStep('title' in request.fields ? { ...request, fields: { title: json(7) } } : request, at),
      },
    }),
  });
  const { runId } = await start(execution, { ...go, threadId: 't1' });
  await endOf(execution, runId);
  const { status, end } = await replicas.threads.getRun({ owner, runId }, call());
  t.is(status, 'failed');
  t.like(end?.error, { code: 'NodeFailed', message: 'field "title" must be a string, not number', node: 'name' });
  t.is(driven, 1);
});
