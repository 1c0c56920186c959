import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { byLoad } from '../by-load.ts';
import { changesOf, cronOf, dueIn, shownIn } from '../contract/wall-clocks.ts';
import { generator } from '../kill/random.ts';
import { ScheduledRuns, slotOf, withClock } from '../process/scheduled-runs.ts';
import { withCluster } from '../servers/cluster-suite.ts';

/** A thousand schedules with `CAMPAIGNS=1`. */
const long = processEnv()['CAMPAIGNS'] === '1';
const schedules = long ? 1000 : 60;
/** Their slots begin so long after the first is made, and come within so long. */
const [leadMs, spreadMs] = long ? [120_000, 240_000] : [Math.min(byLoad(10_000), 60_000), 15_000];
const betweenFaultsMs = Math.min(byLoad(2000), 10_000);
const hourMs = 3_600_000;
const timezone = 'America/New_York';
const daily = { minutes: [0, 30], hours: [1, 2] };

withCluster(
  test,
  { agent: 'echo', gateways: 3, threads: 2, record: 'postgres', env: withClock(0, hourMs, 0, -hourMs) },
  (cluster) => {
    test.serial(
      'gateways and workers that are killed, and clocks that are stepped by an hour: each slot once, none early',
      async (t) => {
        t.timeout(byLoad(long ? 1_200_000 : 240_000));
        const random = generator(36);
        const on = new ScheduledRuns(() => cluster().urls);
        const first = Date.now() + leadMs;
        const changes = changesOf(timezone, new Date().getUTCFullYear() - 1);
        const plans = Array.from({ length: schedules }, (_, index) => {
          const change = changes[Math.floor(index / 10) % changes.length] ?? 0;
          if (index % 10 === 0) {
            const [from, to] = [change - 12 * hourMs, change + 12 * hourMs];
            return { timing: { cron: cronOf(daily), timezone }, slotsTo: () => [], backfill: { from, to } };
          }
          const at = first + Math.floor(random() * spreadMs);
          return {
            timing: { at: new Date(at).toISOString() },
            slotsTo: (to: number) => [at].filter((slot) => slot <= to),
          };
        });
        const making = on.make(plans);
        let [kills, steps] = [0, 0];
        const late: number[] = [];
        while (on.made.length < schedules || Date.now() < first + spreadMs) {
          await delay(betweenFaultsMs * (0.5 + random()));
          const { threads, executions, gateways, replicas } = cluster();
          const victims = [...threads, ...executions, ...gateways];
          const victim = victims[Math.floor(random() * victims.length)];
          if (random() < 0.5 && victim) {
            await victim.kill();
            await victim.start();
            kills += 1;
          } else {
            for (const replica of replicas.filter(() => random() < 0.5)) process.kill(replica.pid(), 'SIGUSR2');
            steps += 1;
          }
          const early = (await on.runs(100)).filter((run) => slotOf(run) > Date.now());
          t.deepEqual(early, []);
        }
        await making;
        for (const change of changes) {
          const due = dueIn(shownIn(timezone, change - 48 * hourMs, change + 48 * hourMs), daily);
          const expected = due.filter((at) => Math.abs(at - change) <= 12 * hourMs);
          const backfilled = on.made.filter(
            ({ backfilled: slots }) => slots.length > 0 && Math.abs((slots[0] ?? 0) - change) < 12 * hourMs,
          );
          t.true(backfilled.length > 0);
          for (const { backfilled: slots } of backfilled) t.deepEqual(slots, expected);
        }
        const runs = await on.check(t, Date.now());
        for (const run of runs) if (slotOf(run) >= first) late.push(Date.parse(run.created_at) - slotOf(run));
        t.true(Math.min(...late) >= 0, 'none is early by the clock of the record');
        t.true(Math.max(...late) < hourMs / 2, 'times of the record are those of its server');
        t.log(
          `${String(schedules)} schedules, ${String(kills)} kills, ${String(steps)} steps of clocks, ${String(runs.length)} slots, each once; at most ${String(Math.max(...late))} ms late`,
        );
      },
    );
  },
);
