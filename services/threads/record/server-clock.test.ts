import test from 'ava';
import { openServerClock } from './server-clock.ts';

const hourMs = 3_600_000;

test('the clock of a server goes on by the time that passes, whatever the clock of the process is set to', async (t) => {
  const processNow = Date.now;
  t.teardown(() => (Date.now = processNow));
  const server = (): number => 1_000_000 + performance.now();
  const now = await openServerClock(() => Promise.resolve(server()));
  for (const stepMs of [0, hourMs, -hourMs]) {
    Date.now = () => processNow() + stepMs;
    const shown = now();
    t.true(shown <= server() && shown > server() - 1000, `${String(shown)} beside ${String(server())}`);
  }
});

test('a clock is never ahead of the server, however long a reading takes', async (t) => {
  const server = (): number => performance.now();
  const now = await openServerClock(async () => {
    const shown = server();
    await new Promise((resolve) => setTimeout(resolve, 50));
    return shown;
  });
  t.true(now() <= server() - 45);
  t.true(now() > server() - 5000);
});

test.serial('a slow reading moves the clock no further than it must', async (t) => {
  const elapsed = performance.now.bind(performance);
  let passedMs = 0;
  performance.now = () => elapsed() + passedMs;
  t.teardown(() => (performance.now = elapsed));
  let setMs = 0;
  let slowMs = 0;
  const server = (): number => performance.now() + setMs;
  const now = await openServerClock(() => {
    const shown = server();
    passedMs += slowMs;
    return Promise.resolve(shown);
  });
  const readAgain = async (): Promise<number> => {
    passedMs += 6000;
    now();
    await new Promise((resolve) => setImmediate(resolve));
    return server() - now();
  };
  const near = (behind: number, expected: number): boolean => Math.abs(behind - expected) < 50;
  slowMs = 400;
  t.true(near(await readAgain(), 0), 'the fast reading before it says more');
  setMs = 1000;
  t.true(near(await readAgain(), 400), 'the server was set on: the clock is behind by no more than the reading took');
  slowMs = 0;
  t.true(near(await readAgain(), 0));
  setMs = 0;
  slowMs = 400;
  t.true(near(await readAgain(), 400), 'the server was set back: the clock is not ahead of it');
});

test.serial('while a server is not read its clock goes on, and its new time counts once it is', async (t) => {
  const elapsed = performance.now.bind(performance);
  let skippedMs = 0;
  performance.now = () => elapsed() + skippedMs;
  t.teardown(() => (performance.now = elapsed));
  let isAway = true;
  let setMs = 0;
  let reads = 0;
  const now = await openServerClock(() => {
    reads += 1;
    return isAway && reads > 1 ? Promise.reject(new Error('away')) : Promise.resolve(performance.now() + setMs);
  });
  const near = (expected: number): boolean => Math.abs(now() - expected) < 1000;
  skippedMs += 60_000;
  setMs = hourMs;
  t.true(near(performance.now()));
  await Promise.resolve();
  t.is(reads, 2);
  t.true(near(performance.now()));
  t.is(reads, 2, 'it is not read at every look');
  isAway = false;
  skippedMs += 60_000;
  now();
  await new Promise((resolve) => setImmediate(resolve));
  t.true(near(performance.now() + hourMs));
});
