import test from 'ava';
import { createClient, user, type Chunk, type Client } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openGate } from '../servers/gate.ts';
import { freePorts } from '../servers/real-process.ts';
import { until } from '../until.ts';
import { besideBacklog, knowsBilling, registerBoth, revision } from './backlog.ts';
import { valueIn } from './keda.ts';

/** Runs of an agent without a worker: beside so many, sweeps for their own sake come half a minute apart. */
const backlog = 10_000;
const slots = 64;
const atOnce = 32;
/** Runs of the other agent while what scales it is read. */
const held = 40;
/** How old what scales workers may be, in milliseconds. */
const mostLagMs = 5000;
/** Each of the two api processes is killed once. */
const kills = 2;
const acceptedPerKill = 150;
/** The lease of a dead process, a sweep over the backlog, and what two busy cores take. */
const enqueuedWithinMs = 20_000;

withCluster(test, besideBacklog({ backlog, slots }), (cluster) => {
  const client = (): Client => createClient(cluster().urls[0] ?? '');
  const startRun = async (config: object): Promise<string | undefined> => {
    const { status, body } = await client().send('POST', '/v1/runs', { messages: [user('go')], config });
    return status === 202 ? (body.data as { run_id: string }).run_id : undefined;
  };

  /** Accepts runs, several at once, until `isEnough`. @returns the ids of those that were accepted. */
  const acceptWhile = async (config: object, isEnough: (accepted: number) => boolean): Promise<readonly string[]> => {
    const ids: string[] = [];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (!isEnough(ids.length)) {
          const id = await startRun(config);
          if (id !== undefined) ids.push(id);
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
    t.timeout(120_000);
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
    'what scales a pool is at most five seconds old beside ten thousand runs of another, at each replica',
    async (t) => {
      t.timeout(600_000);
      const ports = await freePorts(cluster().executions.length);
      for (const [index, api] of cluster().executions.entries()) {
        t.is(await api.stop(), 0);
        await api.start({ METRICS_PORT: String(ports[index]), METRICS_HOST: '127.0.0.1' });
      }
      const runsOf = async (port: number, agent: string): Promise<number> => {
        const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return valueIn(page, `agent_workflow_revision_runs{agent="${agent}",revision="${revision}"}`);
      };
      /** How long it takes until every replica shows it, in milliseconds. */
      const lagUntil = async (agent: string, runs: number): Promise<number> => {
        const since = performance.now();
        for (const port of ports)
          await until(async () => (await runsOf(port, agent).catch(() => undefined)) === runs, { timeoutMs: 120_000 });
        return performance.now() - since;
      };
      await lagUntil('billing', 0);

      await using gate = await openGate();
      const queue = async (agent: string, count: number): Promise<void> => {
        const turns = Array.from({ length: count }, (_, turn) => turn).values();
        await Promise.all(
          Array.from({ length: atOnce }, async () => {
            for (const _ of turns)
              if ((await startRun({ agent, gate: gate.url })) === undefined) throw new Error('a run was refused');
          }),
        );
      };
      await queue('billing', backlog);
      const waiting = await lagUntil('billing', backlog);
      await queue('support', held);
      const driven = await lagUntil('support', held);
      await gate.visited(held);
      t.is(await lagUntil('support', held).then(() => runsOf(ports[0] ?? 0, 'support')), held);
      gate.open();
      const ended = await lagUntil('support', 0);
      t.log(`ms until it showed: ${[waiting, driven, ended].map((ms) => ms.toFixed(0)).join(', ')}`);
      for (const ms of [waiting, driven, ended]) t.true(ms <= mostLagMs);
    },
  );

  test.serial(
    'runs that were accepted by an api process that is killed are executed as soon as its lease is over, also beside a backlog',
    async (t) => {
      t.timeout(600_000);
      const times: number[] = [];
      for (let turn = 0; turn < kills; turn++) {
        const api = cluster().executions[turn];
        let killed: Promise<unknown> | undefined;
        const ids = await acceptWhile({ agent: 'support' }, (accepted) => {
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
