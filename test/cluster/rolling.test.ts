import test from 'ava';
import { readUpgrade } from '../chart/upgrade-order.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { allHolds, replace, startLoad, usualCallers } from './load.ts';
import { byLoad } from '../by-load.ts';

const drainSeconds = 5;

withCluster(test, { agent: 'steps', env: { DRAIN_SECONDS: String(drainSeconds) } }, (cluster) => {
  test.serial('every process is restarted in turn under load, and no request fails and no run is lost', async (t) => {
    t.timeout(byLoad(180_000));
    const load = await startLoad(cluster(), usualCallers('turn'));
    for (const replica of cluster().replicas) {
      const before = load.answered();
      await replica.restart();
      t.log(`${replica.name} restarted; ${load.answered() - before} calls answered meanwhile`);
    }
    await allHolds(t, cluster(), load);
  });

  test.serial(
    'an upgrade as the chart rolls it, all Deployments at once and each pod within its grace, fails no request',
    async (t) => {
      t.timeout(byLoad(180_000));
      const { rolls } = await readUpgrade(drainSeconds);
      const load = await startLoad(cluster(), usualCallers('upgrade'));
      const rolled = await Promise.all(rolls.map(async (roll) => replace(t, cluster(), roll)));
      t.is(
        rolled.reduce((sum, count) => sum + count, 0),
        cluster().replicas.length,
        'a replica belongs to no Deployment',
      );
      await allHolds(t, cluster(), load);
    },
  );
});
