import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import { processEnv } from '@agent-workflow/kit/env';
import { byLoad } from '../by-load.ts';
import { changesOf, cronOf, dueIn, shownIn } from '../contract/wall-clocks.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';
import { ScheduledRuns, slotOf, withClock } from './scheduled-runs.ts';

/** A thousand schedules with `CAMPAIGNS=1`. */
const long = processEnv()['CAMPAIGNS'] === '1';
const schedules = long ? 1000 : 30;
/** From the start of the first process to the change of the clocks, and from that to the end. */
const [leadMs, restMs] = long ? [120_000, 150_000] : [Math.min(byLoad(10_000), 45_000), 5000];
const betweenKillsMs = Math.min(byLoad(5000), 15_000);

const timezone = 'America/New_York';
const hourMs = 3_600_000;

for (const change of changesOf(timezone, 2026))
  test.serial(
    `a process that is killed while the clocks are set at ${new Date(change).toISOString()} fires each slot once, none early`,
    async (t) => {
      t.timeout(byLoad(long ? 900_000 : 240_000));
      await using workspace = await makeWorkspace('echo');
      const begun = Date.now();
      const aheadMs = change - leadMs - begun;
      const now = (): number => Date.now() + aheadMs;
      let service: StandaloneProcess | undefined;
      await using on = {
        runs: new ScheduledRuns(() => [service?.url ?? '']),
        start: async (): Promise<void> => {
          service = await startStandalone({ ...workspace.env, ...withClock(aheadMs) });
        },
        [Symbol.asyncDispose]: async () => service?.[Symbol.asyncDispose](),
      };
      await on.start();

      const shown = shownIn(timezone, change - 24 * hourMs, change + 24 * hourMs);
      // Those of the hour that is left out or shown twice, those around it, and of every hour.
      const times = fc.record({
        minutes: fc.uniqueArray(fc.constantFrom(0, 0, 1, 2, 30, 58, 59), { minLength: 1, maxLength: 3 }),
        hours: fc.option(fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 }), {
          nil: undefined,
        }),
      });
      const plans = fc.sample(times, { numRuns: schedules, seed: 36 }).map((daily) => ({
        timing: { cron: cronOf(daily), timezone },
        slotsTo: (to: number) => dueIn(shown, daily).filter((at) => at <= to),
      }));
      const making = on.runs.make(plans);
      let kills = 0;
      while (now() < change + restMs) {
        await delay(betweenKillsMs * (0.5 + Math.random()));
        await service?.stop('SIGKILL');
        kills += 1;
        await on.start();
        const early = (await on.runs.runs(100)).filter((run) => slotOf(run) > now());
        t.deepEqual(early, []);
      }
      await making;
      const runs = await on.runs.check(t, change + restMs);
      t.true(runs.every((run) => Date.parse(run.created_at) >= slotOf(run)));
      const latest = Math.max(...runs.map((run) => Date.parse(run.created_at) - slotOf(run)));
      t.log(
        `${String(schedules)} schedules, ${String(kills)} kills, ${String(runs.length)} slots, each once; at most ${String(latest)} ms late`,
      );
    },
  );
