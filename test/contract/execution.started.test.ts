import test from 'ava';
import { END, START, StateGraph, textOf } from '@agent-workflow/graph';
import { isServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { threadExists } from '@agent-workflow/protos/refusals';
import { call, owner, start } from './execution/calls.ts';
import { user } from './execution/messages.ts';
import { openReplicas } from './replicas.ts';

const graph = new StateGraph({})
  .addNode('only', ({ context }, ctx) => {
    if (textOf(context.at(-1) ?? { content: [] }) === 'report') ctx.progress({ done: 1 });
    return {};
  })
  .addEdge(START, 'only')
  .addEdge('only', END)
  .compile();

test('the reply to a start says when the run was accepted, and whether it was on record before', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph });
  const request = { runId: newId(), threadId: 't1', awaitEndMs: 400 };
  const first = await start(execution, request);
  const { createdAt } = await replicas.threads.getRun({ owner, runId: first.runId }, call());
  t.like(first, { existed: undefined, createdAt });
  t.like(await start(execution, request), { existed: true, createdAt });
});

test('an end that is in the reply to a start says whether nodes have reported progress; of a run that was there that is not known', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph });
  const request = { awaitEndMs: 400, runId: newId() };
  const silent = await start(execution, request);
  t.like(silent, { isSilent: true, end: { kind: 'on_chain_end' } });
  t.is((await start(execution, request)).isSilent, undefined);
  const reporting = await start(execution, { awaitEndMs: 400, messages: [user('report')] });
  t.like(reporting, { isSilent: undefined, end: { kind: 'on_chain_end' } });
});

test('a run that is for a new thread alone is refused where the thread is there, and the same request again is its run', async (t) => {
  await using replicas = await openReplicas();
  const { execution, threads } = { ...(await replicas.open({ graph })), threads: replicas.threads };
  const request = { runId: newId(), threadId: 't1', onlyNewThread: true };
  const { runId } = await start(execution, request);
  t.like(await start(execution, request), { runId, existed: true });
  const refusal = await t.throwsAsync(start(execution, { ...request, runId: newId() }));
  t.true(isServiceError(refusal, 'Conflict') && refusal.details.some(({ type }) => type === threadExists));
  const { runs } = await threads.listRuns({ owner, threadId: 't1', limit: 10, offset: 0 }, call());
  t.is(runs.length, 1);
});
