import test from 'ava';
import { createClient, user, type Chunk } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openGate } from '../servers/gate.ts';
import { until } from '../until.ts';
import { besideBacklog, knowsBilling, registerBoth } from './backlog.ts';
import { byLoad } from '../by-load.ts';

/** Runs of an agent without a worker: beside so many, sweeps for their own sake come half a minute apart. */
const backlog = 3000;
const atOnce = 32;
/** Each of the two api processes is killed once. */
const kills = 2;
const acceptedPerKill = 150;
/** The lease of a dead process, a sweep over the backlog, and what two busy cores take. */
const enqueuedWithinMs = 20_000;

withCluster(test, besideBacklog({ backlog, slots: 64 }), (cluster) => {
  const client = (): ReturnType<typeof createClient> => createClient(cluster().urls[0] ?? '');

  /** Accepts runs, several at once, until `isEnough`. @returns the ids of those that were accepted. */
  const acceptWhile = async (agent: string, isEnough: (accepted: number) => boolean): Promise<readonly string[]> => {
    const ids: string[] = [];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (!isEnough(ids.length)) {
          const { status, body } = await client().send('POST', '/v1/runs', {
            messages: [user('go')],
            config: { agent },
          });
          if (status === 202) ids.push((body.data as { run_id: string }).run_id);
        }
      }),
    );
    return ids;
  };

  const unfinished = async (): Promise<number> => {
    const { body } = await client().send('GET', '/v1/runs?agent=support&status=queued&status=running&limit=100');
    return (body.data as { runs: unknown[] }).runs.length;
  };

  test.before(async () => {
    await registerBoth(cluster());
    await until(() => knowsBilling(cluster()));
  });

  test.serial('a stream goes on without a gap when the api process that it is followed at is killed', async (t) => {
    t.timeout(byLoad(120_000));
    await using gate = await openGate();
    const following = Array.fromAsync(
      client().stream({ messages: [user('go')], config: { agent: 'support', gate: gate.url } }),
    );
    await gate.visited(1);
    for (const api of cluster().executions) {
      await api.kill();
      await api.start();
    }
    gate.open();
    const chunks: readonly Chunk[] = await following;
    const numbers = chunks.map(({ id }) => Number(id.split(':').at(-1)));
    t.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
    t.is(gate.visits(), 1);
    t.regex(JSON.stringify(chunks.at(-1)), /completed/);
  });

  test.serial(
    'runs that were accepted by an api process that is killed are executed as soon as its lease is over, also beside a backlog',
    async (t) => {
      t.timeout(byLoad(600_000));
      await acceptWhile('billing', (accepted) => accepted >= backlog);
      const times: number[] = [];
      for (let turn = 0; turn < kills; turn++) {
        const api = cluster().executions[turn];
        let killed: Promise<unknown> | undefined;
        const ids = await acceptWhile('support', (accepted) => {
          if (accepted >= acceptedPerKill / 2) killed ??= api?.kill();
          return accepted >= acceptedPerKill;
        });
        await killed;
        const begun = performance.now();
        await until(async () => (await unfinished()) === 0, { timeoutMs: 120_000 });
        times.push(performance.now() - begun);
        for (const id of ids)
          t.like((await client().send('GET', `/v1/runs/${id}`)).body.data, { status: 'completed' } as never);
        await api?.start();
      }
      t.log(`ms until all were executed: ${times.map((ms) => ms.toFixed(0)).join(', ')}`);
      for (const ms of times) t.true(ms <= enqueuedWithinMs);
    },
  );
});
