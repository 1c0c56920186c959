import test from 'ava';
import { END, START, StateGraph, interrupt, textOf } from '@agent-workflow/graph';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { until } from '../until.ts';
import { call, endOf, invoke, owner, start } from './execution/calls.ts';
import { user } from './execution/messages.ts';
import { gates } from './execution/gates.ts';
import { gated } from './execution/graphs.ts';
import { openReplicas, type Replicas } from './replicas.ts';

/** `ask` asks, `fail` fails, anything else completes. */
const graph = new StateGraph({})
  .addNode('only', ({ context }) => {
    const text = textOf(context.at(-1) ?? { content: [] });
    if (text === 'ask') interrupt('Go on?');
    if (text === 'fail') throw new Error('told to');
    return {};
  })
  .addEdge(START, 'only')
  .addEdge('only', END)
  .compile();

const minuteMs = 60_000;

/** A record whose clock the test moves. */
async function openMoved(): Promise<{ readonly replicas: Replicas; readonly pass: (ms: number) => void }> {
  let ahead = 0;
  const replicas = await openReplicas({ now: () => Date.now() + ahead });
  return {
    replicas,
    pass: (ms) => {
      ahead += ms;
    },
  };
}

const isThere = async ({ threads }: Replicas, threadId: string): Promise<boolean> =>
  (await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()))) !== undefined;

const noted = async ({ threads }: Replicas): Promise<number> =>
  (await threads.countResources({ kind: 'completion', owner, atMost: 1000 }, call())).count;

const last = { deletesThread: true } as const;

test('the thread goes with its run, whether that completed, failed or was stopped; one that waits for an answer, or has gone on, stays', async (t) => {
  const { replicas, pass } = await openMoved();
  await using _ = replicas;
  const { execution } = await replicas.open({ graph });
  await invoke(execution, { ...last, threadId: 'completed' });
  for (const [threadId, text] of [
    ['failed', 'fail'],
    ['asking', 'ask'],
  ] as const)
    await endOf(execution, (await start(execution, { ...last, threadId, messages: [user(text)] })).runId);
  await invoke(execution, { ...last, threadId: 'gone-on' });
  await invoke(execution, { threadId: 'gone-on' });
  await invoke(execution, { threadId: 'kept' });
  t.is(await noted(replicas), 4);
  await replicas.open({ graph });
  t.true(await isThere(replicas, 'completed'), 'its result can be read for a while');
  pass(2 * minuteMs);
  await replicas.open({ graph });
  await until(async () => (await noted(replicas)) === 0);
  const left: string[] = [];
  for (const id of ['completed', 'failed', 'asking', 'gone-on', 'kept']) if (await isThere(replicas, id)) left.push(id);
  t.deepEqual(left, ['asking', 'gone-on', 'kept']);
});

test('a run that goes on keeps its thread until it has ended, and a note without a run is forgotten', async (t) => {
  const { replicas, pass } = await openMoved();
  await using _ = replicas;
  const { execution } = await replicas.open({ graph: gated() });
  const gate = gates.next();
  const { runId } = await start(execution, { ...last, threadId: 'long', messages: [user(gate.name)] });
  await gate.entered;
  const refused = start(execution, { ...last, threadId: 'never', initialStateJson: Buffer.from('{"no_field":1}') });
  await t.throwsAsync(refused);
  t.is(await noted(replicas), 1, 'of a run that is refused there is no note');
  const note = {
    kind: 'completion',
    owner,
    id: 'never',
    version: 1,
    json: Buffer.from('{"threadId":"never"}'),
  } as const;
  await replicas.threads.putResource({ ...note, dueAt: Date.now() }, call());
  t.is(await noted(replicas), 2);
  pass(2 * minuteMs);
  await replicas.open({ graph });
  await execution.stopRun({ owner, runId }, call());
  t.true(await isThere(replicas, 'long'));
  pass(90 * minuteMs);
  await replicas.open({ graph });
  await until(async () => (await noted(replicas)) === 0);
  t.false(await isThere(replicas, 'long'));
});

test('a thread whose worker died before the end of its run goes all the same, and three replicas delete it once', async (t) => {
  const { replicas, pass } = await openMoved();
  await using _ = replicas;
  const first = await replicas.open({ graph });
  await invoke(first.execution, { ...last, threadId: 'left' });
  first.kill();
  pass(3 * minuteMs);
  await Promise.all([replicas.open({ graph }), replicas.open({ graph }), replicas.open({ graph })]);
  await until(async () => (await noted(replicas)) === 0);
  t.false(await isThere(replicas, 'left'));
});
