import test from 'ava';
import { registerFrom } from '@agent-workflow/execution/register';
import { createClient, user } from '../servers/client.ts';
import { serviceToken } from '../servers/cluster.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

/** Two replicas of the threads service, each of which knows a change of routing up to two seconds later. */
const revisions = ['v1', 'v2'];
const held = { agent: undefined, agents: { support: agentAt('working') } };
const workers = revisions.map((revision) => ({ service: held, env: { AGENT_REVISION: revision } }));
const service = { agent: null, default_agent: 'support' };
const options = { agent: null, ...{ service, workers, gateways: 1, threads: 2, executions: 1 } };

const switches = 6;
const atOnce = 10;

withCluster(test, { ...options, env: { RATE_LIMIT_REQUESTS: '0' } }, (cluster) => {
  test.serial('a run that is accepted while replicas of the record differ on the routing is served', async (t) => {
    t.timeout(byLoad(120_000));
    const { send } = createClient(cluster().urls[0] ?? '');
    const invoke = async () => send('POST', '/v1/graph/invoke', { messages: [user('go')] });
    await using workspace = await makeWorkspace(null, held);
    const place = { THREADS_ADDRESS: cluster().threads[0]?.address ?? '', SERVICE_TOKEN: serviceToken };
    for (const revision of revisions)
      await registerFrom({ ...workspace.env, ...place, AGENT_REVISION: revision }, 'auto');
    await until(async () => (await invoke()).status === 200);
    for (let turn = 0; turn < switches; turn++) {
      const current = revisions[turn % revisions.length];
      const { routing } = (await send('GET', '/v1/agents/support')).body.data as { routing: { version: number } };
      const routed = await send('PUT', '/v1/agents/support/routing', { version: routing.version, current });
      t.is(routed.status, 200, JSON.stringify(routed.body));
      const replies = await Promise.all(Array.from({ length: atOnce }, invoke));
      t.deepEqual(
        replies.filter(({ status }) => status !== 200).map(({ body }) => JSON.stringify(body)),
        [],
      );
    }
  });
});
