import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { byLoad } from '../by-load.ts';
import { campaignEnv, openCampaign } from '../contract/webhook-campaign.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';

/** How often the process is killed: 40 times with `KILLS=40`. */
const kills = Number(processEnv()['KILLS'] ?? 3);
const runsPerKill = 12;

test('an end reaches its receivers at least once, under one id with the same bytes and nobody else, whenever the process dies', async (t) => {
  t.timeout(byLoad(240_000 + kills * 15_000));
  await using workspace = await makeWorkspace('echo');
  await using campaign = await openCampaign();
  const env = { ...workspace.env, ...campaignEnv };
  for (let round = 0; round < kills; round++) {
    const service = await startStandalone(env);
    if (round === 0) await campaign.register(service.url);
    const before = campaign.requests();
    const begun = campaign.begin(service.url, runsPerKill);
    // From before the first end is on record to when most of them are sent.
    await until(() => campaign.requests() - before >= (round * 5) % runsPerKill);
    await delay((round * 17) % 90);
    await service.stop('SIGKILL');
    await begun;
  }
  await using service = await startStandalone(env);
  await campaign.begin(service.url, 1);
  await campaign.check(t, service.url);
});
