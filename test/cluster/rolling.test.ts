import test from 'ava';
import { user } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { createSturdyClient, type SturdyClient } from '../kill/clients.ts';

const callers = 6;

/** Each caller has a thread of its own, and asks for all sorts of things. */
async function call(client: SturdyClient, caller: number, round: number): Promise<Called> {
  const config = { thread_id: `thread-${caller}` };
  const body = { messages: [user(`round ${round}`)], config };
  const key = { 'idempotency-key': `${caller}-${round}` };
  if (round % 2 === 0) {
    const { status, body: reply } = await client.send('POST', '/v1/graph/invoke', body, key);
    return {
      status,
      runId: (reply.data as { meta?: { run_id: string } } | undefined)?.meta?.run_id,
      text: JSON.stringify(reply),
    };
  }
  const { status, body: reply } = await client.send('POST', '/v1/runs', body, key);
  const runId = (reply.data as { run_id?: string } | undefined)?.run_id;
  if (runId !== undefined) await client.follow(runId);
  const { status: read } = await client.send('GET', `/v1/threads/${config.thread_id}/state`);
  return { status: status === 202 ? read : status, runId, text: JSON.stringify(reply) };
}

interface Called {
  readonly status: number;
  readonly runId: string | undefined;
  readonly text: string;
}

withCluster(test, { agent: 'steps', env: { DRAIN_SECONDS: '5' } }, (cluster) => {
  test('every process is restarted in turn under load, and no request fails and no run is lost', async (t) => {
    t.timeout(180_000);
    const client = createSturdyClient(cluster().urls, false);
    const calls: Called[] = [];
    let isOver = false;
    const work = Array.from({ length: callers }, async (_, caller) => {
      for (let round = 0; !isOver; round++) calls.push(await call(client, caller, round));
    });
    const begun = performance.now();
    for (const replica of cluster().replicas.filter(({ name }) => !name.startsWith('memory'))) {
      const before = calls.length;
      await replica.restart();
      t.log(`${replica.name} restarted; ${calls.length - before} requests meanwhile`);
    }
    isOver = true;
    await Promise.all(work);
    t.log(`${calls.length} requests in ${Math.round(performance.now() - begun)} ms`);
    t.deepEqual(
      calls.filter(({ status }) => status !== 200),
      [],
    );
    for (const { runId } of calls) {
      const { body } = await client.send('GET', `/v1/runs/${runId}`);
      t.like(body.data, { status: 'completed' } as never);
    }
    for (let caller = 0; caller < callers; caller++) {
      const { runs } = (await client.send('GET', `/v1/threads/thread-${caller}/runs?limit=1000`)).body.data as {
        runs: { status: string }[];
      };
      t.deepEqual([...new Set(runs.map(({ status }) => status))], ['completed']);
    }
  });
});
