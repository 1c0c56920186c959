import test from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { byLoad } from '../by-load.ts';
import { campaignEnv, openCampaign } from '../contract/webhook-campaign.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { until } from '../until.ts';

/** How often a process is killed: 40 times with `KILLS=40`. */
const kills = Number(processEnv()['KILLS'] ?? 4);
const runsPerKill = 12;

withCluster(test, { agent: 'echo', env: campaignEnv }, (cluster) => {
  test.serial(
    'an end reaches its receivers at least once, under one id with the same bytes, whichever replica dies',
    async (t) => {
      t.timeout(byLoad(180_000 + kills * 20_000));
      await using campaign = await openCampaign();
      const url = cluster().urls[0] ?? '';
      await campaign.register(url);
      for (let round = 0; round < kills; round++) {
        const { executions, threads } = cluster();
        const victim = round % 4 === 3 ? threads[0] : executions[round % executions.length];
        const before = campaign.requests();
        const begun = campaign.begin(url, runsPerKill);
        await until(() => campaign.requests() - before >= (round * 5) % runsPerKill);
        await victim?.kill();
        await begun;
        await victim?.start();
      }
      await campaign.check(t, url);
    },
  );
});
