import type { TestFn } from 'ava';
import { createClient, user, type Reply } from '../../servers/client.ts';
import type { Replica } from '../../servers/cluster-replica.ts';
import type { WholePrivateCluster } from '../../servers/cluster.ts';
import { until } from '../../until.ts';

/** What `/readyz` says of each gateway: the status, and the names and reasons of what is unavailable. */
async function readyOf(urls: readonly string[]): Promise<readonly [number, unknown][]> {
  return Promise.all(
    urls.map(async (url): Promise<[number, unknown]> => {
      const { status, body } = await createClient(url).send('GET', '/readyz');
      return [status, (body.data as { readonly degraded?: unknown } | null)?.degraded];
    }),
  );
}

/** Freezes all replicas of a service while `work` is done. */
async function whileFrozen(replicas: readonly Replica[], work: () => Promise<void>): Promise<void> {
  const signal = (name: NodeJS.Signals): void => {
    for (const replica of replicas) process.kill(replica.pid(), name);
  };
  signal('SIGSTOP');
  try {
    await work();
  } finally {
    signal('SIGCONT');
  }
}

export function servicesAway(test: TestFn, cluster: () => WholePrivateCluster): void {
  const settled = (expected: readonly [number, unknown]): Promise<void> =>
    until(async () => {
      const answers = await readyOf(cluster().urls);
      return answers.every((answer) => JSON.stringify(answer) === JSON.stringify(expected));
    });

  test.serial(
    'a gateway is ready while a service is unavailable, and names it; it is not when the record is',
    async (t) => {
      const { executions, memories, threads } = cluster();
      await settled([200, []]);
      const late = (name: string) => ({ name, reason: 'it does not answer in time' });
      await whileFrozen(executions, () => settled([200, [late('execution')]]));
      await settled([200, []]);
      await whileFrozen(threads, async () => {
        await until(async () => (await readyOf(cluster().urls)).every(([status]) => status === 503));
      });
      await settled([200, []]);
      await memories[0]?.kill();
      t.deepEqual(await readyOf(cluster().urls), [
        [200, []],
        [200, []],
      ]);
      await memories[1]?.kill();
      await settled([200, [{ name: 'memory', reason: 'it is unavailable' }]]);
      await Promise.all(memories.map(({ start }) => start()));
      await settled([200, []]);
    },
  );

  test.serial('while NATS is unavailable, each gateway is ready and names it', async (t) => {
    const { ground, urls } = cluster();
    await settled([200, []]);
    await ground.nats.kill();
    await settled([200, [{ name: 'nats', reason: 'it is unavailable' }]]);
    await ground.nats.restart();
    await settled([200, []]);
    t.is(urls.length, 2);
  });

  test.serial(
    'while Redis is unavailable, runs of an owner who never set up tools go on at each gateway',
    async (t) => {
      const { ground, urls } = cluster();
      const invoke = (url: string): Promise<Reply> =>
        createClient(url).send('POST', '/v1/graph/invoke', { messages: [user('go')] });
      await ground.redis.kill();
      await settled([200, [{ name: 'redis', reason: 'it is unavailable' }]]);
      t.deepEqual(
        (await Promise.all(urls.map(invoke))).map(({ status }) => status),
        urls.map(() => 200),
      );
      await ground.redis.restart();
      await settled([200, []]);
    },
  );
}
