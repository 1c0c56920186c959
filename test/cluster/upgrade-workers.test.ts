import test, { type ExecutionContext } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { readUpgrade } from '../chart/upgrade-order.ts';
import { createSturdyClient } from '../kill/clients.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { agentAt } from '../servers/standalone.ts';
import { allHolds, replace, startLoad, type Load } from './load.ts';
import { isAsFast, medianAlone, nothingIsLost, pooledCallers } from './pool-load.ts';
import { byLoad } from '../by-load.ts';

/** A project with the packages of an earlier version: `npm run test:upgrade` makes it of a commit. */
const earlier = processEnv()['EARLIER'];

const drainSeconds = 5;
/** The only agent, without a name and a revision, as an installation of one team has it. */
const workers = [1, 2].map(() => ({ service: (root: string) => ({ agent: agentAt('pooled', root) }) }));
const options = {
  ...{ agent: 'pooled', earlier, workers, executions: 2 },
  env: { DRAIN_SECONDS: String(drainSeconds), RATE_LIMIT_REQUESTS: '0' },
};

if (earlier === undefined) {
  test.skip('workers of an earlier version are tested by `npm run test:upgrade`', () => undefined);
} else {
  withCluster(test, options, (cluster) => {
    const client = () => createSturdyClient(cluster().urls, false);
    const holds = async (t: ExecutionContext, load: Load): Promise<void> => {
      const calls = await allHolds(t, cluster(), load, ['completed', 'interrupted']);
      await nothingIsLost(t, load.clients, calls, load.callers);
    };

    test.serial('workers of the only agent go on, and as fast, while all else is upgraded under load', async (t) => {
      t.timeout(byLoad(240_000));
      const { rolls } = await readUpgrade(drainSeconds);
      const before = await medianAlone(client(), [undefined]);
      const load = await startLoad(cluster(), pooledCallers('platform', [undefined]));
      await load.rounds(3);
      await Promise.all(rolls.map(async (roll) => replace(t, cluster(), roll, (replica) => replica.upgrade())));
      await load.rounds(4);
      await holds(t, load);
      isAsFast(t, before, await medianAlone(client(), [undefined]));
    });

    test.serial('then they are upgraded one by one, and no request fails', async (t) => {
      t.timeout(byLoad(240_000));
      const load = await startLoad(cluster(), pooledCallers('workers', [undefined]));
      for (const each of cluster().workers) {
        t.is(await each.stop(), 0, each.name);
        each.upgrade();
        await each.start();
        await load.rounds(2);
      }
      await holds(t, load);
    });
  });
}
