import test from 'ava';
import { END, START, StateGraph, interrupt, textOf } from '@agent-workflow/graph';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { until } from '../until.ts';
import { call, endOf, invoke, owner, start } from './execution/calls.ts';
import { gates } from './execution/gates.ts';
import { gated } from './execution/graphs.ts';
import { user } from './execution/messages.ts';
import { openReplicas, type Replicas } from './replicas.ts';

const graph = new StateGraph({})
  .addNode('only', ({ context }) => {
    if (textOf(context.at(-1) ?? { content: [] }) === 'ask') interrupt('Go on?');
    return {};
  })
  .addEdge(START, 'only')
  .addEdge('only', END)
  .compile();

const hourMs = 3_600_000;
const hour = { threadTtlSeconds: 3600 } as const;

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
  (await threads.countResources({ kind: 'expiry', owner, atMost: 1000 }, call())).count;

const dueNow = async ({ threads }: Replicas): Promise<number> =>
  (await threads.listDueResources({ kind: 'expiry', limit: 100 }, call())).due.length;

/** Opens a replica, which looks at once at what is due, and waits until nothing is. */
async function sweep(replicas: Replicas, env: Readonly<Record<string, string>> = {}): Promise<void> {
  await replicas.open({ graph, env });
  await until(async () => (await dueNow(replicas)) === 0);
}

const setTtl = ({ threads }: Replicas, threadId: string, ttlSeconds: number | null): Promise<unknown> =>
  threads.updateThread(
    {
      ...{ owner, threadId, dropName: false, dropMetadata: false, dropTtl: ttlSeconds === null },
      ...(ttlSeconds !== null && { ttlSeconds }),
    },
    call(),
  );

test('a thread goes when its own time is over since its last change, whatever the service is set to', async (t) => {
  const { replicas, pass } = await openMoved();
  await using _ = replicas;
  const { execution } = await replicas.open({ graph });
  for (const threadId of ['left', 'written', 'longer', 'shorter', 'dropped'])
    await invoke(execution, { ...hour, threadId });
  await invoke(execution, { threadId: 'other' });
  await setTtl(replicas, 'longer', 100 * 3600);
  await setTtl(replicas, 'dropped', null);
  await setTtl(replicas, 'shorter', 60);
  pass(0.5 * hourMs);
  await sweep(replicas, { THREAD_TTL: '0' });
  await until(async () => !(await isThere(replicas, 'shorter')));
  t.true(await isThere(replicas, 'left'));
  await setTtl(replicas, 'written', 2 * 3600);
  await setTtl(replicas, 'written', 3600);
  pass(0.6 * hourMs);
  await sweep(replicas, { THREAD_TTL: '0' });
  const left: string[] = [];
  for (const id of ['left', 'written', 'longer', 'dropped', 'other']) if (await isThere(replicas, id)) left.push(id);
  t.deepEqual(left, ['written', 'longer', 'dropped', 'other']);
  pass(8 * 24 * hourMs);
  await sweep(replicas, { THREAD_TTL: '0' });
  t.deepEqual(await Promise.all(['written', 'longer', 'dropped'].map((id) => isThere(replicas, id))), [
    false,
    false,
    true,
  ]);
  t.is(await noted(replicas), 0);
});

test('a thread outlives its own time while a run holds it, and while it waits for a person', async (t) => {
  const { replicas, pass } = await openMoved();
  await using _ = replicas;
  const { execution } = await replicas.open({ graph: gated() });
  const gate = gates.next();
  const { runId } = await start(execution, { ...hour, threadId: 'held', messages: [user(gate.name)] });
  await gate.entered;
  const { execution: asking } = await replicas.open({ graph });
  await endOf(asking, (await start(asking, { ...hour, threadId: 'asks', messages: [user('ask')] })).runId);
  pass(1.1 * hourMs);
  await sweep(replicas, { WAIT_TTL: '7200' });
  t.deepEqual(await Promise.all(['held', 'asks'].map((id) => isThere(replicas, id))), [true, true]);
  gate.open();
  await endOf(execution, runId);
  pass(1.1 * hourMs);
  await sweep(replicas, { WAIT_TTL: '7200' });
  t.deepEqual(await Promise.all(['held', 'asks'].map((id) => isThere(replicas, id))), [false, false]);
});
