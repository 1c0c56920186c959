import test from 'ava';
import { START, StateGraph } from '@agent-workflow/graph';
import { unavailable } from '@agent-workflow/kit/errors';
import { until } from '../until.ts';
import { call, endOf, owner, start } from './execution/calls.ts';
import { openReplicas, type ReplicaOptions, type Replicas } from './replicas.ts';

const graph = new StateGraph({})
  .addNode('only', () => ({}))
  .addEdge(START, 'only')
  .compile();

/** More than one sweep lists at once. */
const poisonedCount = 120;
const isPoisoned = (threadId: string | undefined): boolean => threadId?.startsWith('poisoned') ?? false;

/** A replica for which the memories of some threads can never be forgotten. */
const poisoned = ({ memory }: Replicas): Partial<ReplicaOptions> => ({
  through: () => ({
    memory: {
      ...memory,
      forget: async (request, at) => {
        if (isPoisoned(request.selection.threadId)) throw unavailable('it never works');
        return memory.forget(request, at);
      },
    },
  }),
});

async function makeThreads(replicas: Replicas): Promise<string[]> {
  const { execution } = await replicas.open({ graph });
  const ids = [
    ...Array.from({ length: poisonedCount }, (_, index) => `poisoned${String(index)}`),
    ...Array.from({ length: 30 }, (_, index) => `sound${String(index)}`),
  ];
  for (const threadId of ids) await endOf(execution, (await start(execution, { threadId })).runId);
  return ids;
}

test('deletions that always fail hold up no other that was begun', async (t) => {
  await using replicas = await openReplicas();
  for (const threadId of await makeThreads(replicas)) await replicas.threads.beginDelete({ owner, threadId }, call());
  await replicas.open({ graph, ...poisoned(replicas) });
  const { threads } = await replicas.threads.listDeleting({ limit: 1000 }, call());
  t.is(threads.length, poisonedCount);
  t.true(threads.every(({ threadId }) => isPoisoned(threadId)));
});

test('idle threads that cannot be deleted hold up no other', async (t) => {
  await using replicas = await openReplicas();
  await makeThreads(replicas);
  const now = (): number => Date.now() + 7_200_000;
  await replicas.open({ graph, env: { THREAD_TTL: '3600' }, now, ...poisoned(replicas) });
  const left = async (): Promise<number> =>
    (await replicas.threads.listThreads({ owner, limit: 1000, offset: 0 }, call())).threads.length;
  await until(async () => (await left()) === 0);
  await until(async () => {
    const { threads } = await replicas.threads.listDeleting({ limit: 1000 }, call());
    return threads.length === poisonedCount && threads.every(({ threadId }) => isPoisoned(threadId));
  });
  t.pass();
});
