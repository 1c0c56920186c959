import test from 'ava';
import { createRecordClock } from './record-clock.ts';

const minute = 60_000;

/** The clock of a process that a test moves against that of the record, and what is logged. */
function createClocks() {
  const clocks = { aheadMs: 0, record: (): number | undefined => Date.now() };
  const logged: unknown[] = [];
  const { now, read } = createRecordClock({
    now: () => Date.now() + clocks.aheadMs,
    log: { warn: (line: unknown) => logged.push(line) },
  });
  /** By how much the clock of runs is off after a reply. */
  const offAfterReply = async (): Promise<number> => {
    const time = clocks.record();
    await read(() => Promise.resolve(time === undefined ? {} : { now: time }));
    return Math.abs(now() - Date.now());
  };
  return { clocks, logged, offAfterReply };
}

for (const [what, aheadMs] of [
  ['ahead', 10 * minute],
  ['behind', -10 * minute],
] as const) {
  test(`runs of a process whose clock is ten minutes ${what} go by the clock of the record`, async (t) => {
    const { clocks, logged, offAfterReply } = createClocks();
    clocks.aheadMs = aheadMs;
    t.true((await offAfterReply()) < 1000);
    t.true((await offAfterReply()) < 1000);
    t.is(logged.length, 1);
    const [line] = logged as [{ aheadMs: number }];
    t.true(Math.abs(line.aheadMs - aheadMs) < 1000);
    clocks.aheadMs = 0;
    t.true((await offAfterReply()) < 1000, 'the clock was set right');
  });
}

test('a clock that may be right is left as it is: a reply may have taken long, or show no time', async (t) => {
  const { clocks, logged, offAfterReply } = createClocks();
  clocks.aheadMs = 900;
  t.true((await offAfterReply()) >= 900);
  clocks.record = () => undefined;
  clocks.aheadMs = 10 * minute;
  t.true((await offAfterReply()) >= 10 * minute);
  t.deepEqual(logged, []);
});
