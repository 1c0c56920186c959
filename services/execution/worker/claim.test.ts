import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import type { ClaimedRun, ClaimRunRequest } from '@agent-workflow/protos/threads';
import { createRecordClock } from './claim.ts';

const minute = 60_000;
const request: ClaimRunRequest = { owner: 'u:ada', threadId: 't1', runId: 'r1', workerId: 'w1', notLast: true };

/** The clock of a process that a test moves against that of the record, and what is logged. */
function createClocks() {
  const clocks = { aheadMs: 0, record: (): number | undefined => Date.now() };
  const logged: unknown[] = [];
  const { now, claimRun } = createRecordClock({
    threads: { claimRun: () => Promise.resolve({ now: clocks.record() } as ClaimedRun) },
    now: () => Date.now() + clocks.aheadMs,
    log: { warn: (line: unknown) => logged.push(line) },
  });
  /** By how much the clock of runs is off after a claim. */
  const offAfterClaim = async (): Promise<number> => {
    await claimRun(request, within(1000));
    return Math.abs(now() - Date.now());
  };
  return { clocks, logged, offAfterClaim };
}

for (const [what, aheadMs] of [
  ['ahead', 10 * minute],
  ['behind', -10 * minute],
] as const) {
  test(`runs of a process whose clock is ten minutes ${what} go by the clock of the record`, async (t) => {
    const { clocks, logged, offAfterClaim } = createClocks();
    clocks.aheadMs = aheadMs;
    t.true((await offAfterClaim()) < 1000);
    t.true((await offAfterClaim()) < 1000);
    t.is(logged.length, 1);
    const [line] = logged as [{ aheadMs: number }];
    t.true(Math.abs(line.aheadMs - aheadMs) < 1000);
    clocks.aheadMs = 0;
    t.true((await offAfterClaim()) < 1000, 'the clock was set right');
  });
}

test('a clock that may be right is left as it is: a reply may have taken long, or show no time', async (t) => {
  const { clocks, logged, offAfterClaim } = createClocks();
  clocks.aheadMs = 900;
  t.true((await offAfterClaim()) >= 900);
  clocks.record = () => undefined;
  clocks.aheadMs = 10 * minute;
  t.true((await offAfterClaim()) >= 10 * minute);
  t.deepEqual(logged, []);
});
