import test from 'ava';
import { registerAgents } from '@agent-workflow/execution/api/registration';
import { atRevision, namedAgents, type Agents } from '@agent-workflow/execution/record/agents';
import { createRevisionRuns, type RevisionRuns } from '@agent-workflow/execution/revision-runs';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { unavailable } from '@agent-workflow/kit/errors';
import { call, start } from '../contract/execution/calls.ts';
import { user } from '../contract/execution/messages.ts';
import { openReplicas, withoutTaking, type Replicas } from '../contract/replicas.ts';

const graph = new StateGraph({})
  .addNode('talk', () => undefined)
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();

const supportAt = (revision: string): Agents & { readonly revision: string } => ({
  ...atRevision(namedAgents([{ name: 'support', graph }], 'support'), revision),
  revision,
});

const go = { messages: [user('go')] };

async function sweep(revisions: RevisionRuns, threads: Replicas['threads']): Promise<unknown> {
  await revisions.begin();
  revisions.see((await threads.listOpenRuns({ limit: 100 }, call())).runs);
  revisions.end();
  return countsOf(revisions);
}

const countsOf = (revisions: RevisionRuns): Readonly<Record<string, number>> =>
  Object.fromEntries(revisions.counts().map(({ agent, revision, runs }) => [`${agent} ${revision}`, runs]));

test('runs are counted by revision, also where there are none, until the revision is retired', async (t) => {
  await using replicas = await openReplicas();
  const { threads, queue } = replicas;
  const revisions = createRevisionRuns({ threads, queue });
  t.deepEqual(await sweep(revisions, threads), {});
  await registerAgents(supportAt('v1'), threads, 'auto');
  t.deepEqual(await sweep(revisions, threads), { 'support v1': 0 });
  const { execution, drain } = await replicas.open({ graph: supportAt('v1'), through: withoutTaking });
  await drain(0);
  await start(execution, { ...go, threadId: 't1' });
  await start(execution, { ...go, threadId: 't2' });
  await registerAgents(supportAt('v2'), threads, 'auto');
  await start(execution, { ...go, threadId: 't3' });
  t.deepEqual(await sweep(revisions, threads), { 'support v1': 2, 'support v2': 1 });
  await threads.retireRevision({ agent: 'support', revision: 'v1' }, call());
  t.deepEqual(Object.keys((await sweep(revisions, threads)) as object), ['support v2']);
});

test('a run that is in the queue and in no sweep counts: nobody would wake it where there are no workers', async (t) => {
  await using replicas = await openReplicas();
  const { threads, queue } = replicas;
  const revisions = createRevisionRuns({ threads, queue });
  await registerAgents(supportAt('v1'), threads, 'auto');
  await sweep(revisions, threads);
  const run = { owner: 'u:ada', threadId: 't1', agent: 'support' };
  await queue.enqueue({ ...run, runId: 'asleep', revision: 'v1' });
  await queue.enqueue({ ...run, threadId: 't2', runId: 'without-a-revision' });
  t.deepEqual(countsOf(revisions), { 'support v1': 2 });
});

test('revisions stay as they were known while the record does not answer', async (t) => {
  await using replicas = await openReplicas();
  const { threads, queue } = replicas;
  let isAway = false;
  const revisions = createRevisionRuns({
    threads: {
      listRegisteredAgents: async (...asked) =>
        isAway ? Promise.reject(unavailable('the record is away')) : threads.listRegisteredAgents(...asked),
    },
    queue,
  });
  await registerAgents(supportAt('v1'), threads, 'auto');
  await sweep(revisions, threads);
  isAway = true;
  t.deepEqual(await sweep(revisions, threads), { 'support v1': 0 });
});
