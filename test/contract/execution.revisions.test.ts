import test from 'ava';
import { registerAgents, unregisteredAgents } from '@agent-workflow/execution/api/registration';
import { atRevision, namedAgents, type Agents } from '@agent-workflow/execution/record/agents';
import { END, interrupt, START, StateGraph, type CompiledGraph } from '@agent-workflow/graph';
import { textOf } from '@agent-workflow/protos/message';
import { json, user } from './execution/messages.ts';
import { call, endOf, invoke, logOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
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
