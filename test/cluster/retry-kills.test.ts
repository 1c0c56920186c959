import test from 'ava';
import { byLoad } from '../by-load.ts';
import { retryUnderKills } from '../kill/retry-kills.ts';
import { sendingTo } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { agentAt } from '../servers/standalone.ts';

const service = { agents: { dear: agentAt('dear') }, default_agent: 'dear' };

withCluster(test, { agent: null, service, env: { LEASE_MS: '1500' } }, (cluster) => {
  test('a run of ten dear steps that failed in its eighth, and is tried again while workers are killed, pays nothing again', async (t) => {
    t.timeout(byLoad(120_000));
    await retryUnderKills(t, {
      send: sendingTo(() => cluster().urls[0] ?? ''),
      kill: async () => {
        await Promise.all(cluster().executions.map((worker) => worker.kill()));
        await Promise.all(cluster().executions.map((worker) => worker.start()));
      },
    });
  });
});
