import test from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { readUpgrade } from '../chart/upgrade-order.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { allHolds, replace, startLoad, usualCallers } from './load.ts';
import { byLoad } from '../by-load.ts';

/** A project with the packages of an earlier version: `npm run test:upgrade` makes it of a commit. */
const earlier = processEnv()['EARLIER'];

const drainSeconds = 5;

if (earlier === undefined) {
  test.skip('an upgrade from an earlier version is tested by `npm run test:upgrade`', () => undefined);
} else {
  withCluster(test, { agent: 'steps', earlier, env: { DRAIN_SECONDS: String(drainSeconds) } }, (cluster) => {
    test.serial(
      'under load the gateways are upgraded, then all other parts at once, and no request fails',
      async (t) => {
        t.timeout(byLoad(240_000));
        const { rolls } = await readUpgrade(drainSeconds);
        const load = await startLoad(cluster(), usualCallers('upgrade'));
        const isGateway = ({ component }: (typeof rolls)[number]): boolean => component === 'gateway';
        let replaced = 0;
        for (const group of [rolls.filter(isGateway), rolls.filter((roll) => !isGateway(roll))]) {
          const counts = group.map(async (roll) => replace(t, cluster(), roll, (replica) => replica.upgrade()));
          for (const count of await Promise.all(counts)) replaced += count;
          // Both versions have worked side by side; now whole rounds are worked on before the next group.
          await load.rounds(3);
        }
        t.is(replaced, cluster().replicas.length, 'a replica belongs to no Deployment');
        await allHolds(t, cluster(), load);
      },
    );
  });
}
