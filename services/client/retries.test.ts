import test from 'ava';
import { RequestError } from './errors.ts';
import { createRetries, headMs, type RetryBounds } from './retries.ts';

const away = new RequestError('the service is unavailable', { status: 0, code: 'UNREACHABLE' });
const refused = (status: number, retryAfterMs?: number): RequestError =>
  new RequestError('the service is busy', { status, code: 'SERVICE_UNAVAILABLE', retryAfterMs });

/** Fails again and again, each time after `attemptMs`, until it is given up: what the attempts and the whole time were. */
async function failWith(error: RequestError, bounds: Partial<RetryBounds> = {}, attemptMs = 0) {
  let now = 0;
  const pauses: number[] = [];
  const pause = (ms: number): Promise<void> => {
    pauses.push(ms);
    now += ms;
    return Promise.resolve();
  };
  const retries = createRetries(
    { maxAttempts: undefined, retryMs: undefined, ...bounds },
    { clock: { now: () => now, pause } },
  );
  const failNext = (): Promise<boolean> => {
    now += attemptMs;
    return retries.after(error).then(
      () => true,
      () => false,
    );
  };
  while (await failNext());
  return { pauses, attempts: pauses.length + 1, ms: now };
}

test('a service that is unavailable is tried for 15 seconds, at most every 5 seconds and at the end once more', async (t) => {
  const { pauses, attempts, ms } = await failWith(away);
  t.is(Math.round(ms), 15_000);
  t.true(attempts >= 7 && attempts <= 13, String(attempts));
  t.true(pauses.every((each) => each <= 5000));
  t.true((pauses[0] ?? 0) >= 100);
});

test('attempts that take long are five at least, unless the time is given', async (t) => {
  t.is((await failWith(away, {}, 60_000)).attempts, 5);
  t.is((await failWith(away, { retryMs: 15_000 }, 60_000)).attempts, 2);
});

test('the time can be set, to none as well', async (t) => {
  t.is(Math.round((await failWith(away, { retryMs: 60_000 })).ms), 60_000);
  t.is((await failWith(away, { retryMs: 0 })).attempts, 1);
});

test('attempts that are given alone are the only bound, and with a time the first that is reached', async (t) => {
  const { attempts, ms } = await failWith(away, { maxAttempts: 20 });
  t.is(attempts, 20);
  t.true(ms > 30_000);
  t.is((await failWith(away, { maxAttempts: 2, retryMs: 15_000 })).attempts, 2);
  t.is(Math.round((await failWith(away, { maxAttempts: 20, retryMs: 3000 })).ms), 3000);
  t.is((await failWith(refused(503), { maxAttempts: 1 })).attempts, 1);
});

test('a refusal is tried five times at least, however long the attempts and the pauses are', async (t) => {
  t.is((await failWith(refused(504), {}, 300_000)).attempts, 5);
  const { attempts, pauses } = await failWith(refused(429, 30_000));
  t.is(attempts, 5);
  t.deepEqual(pauses, [30_000, 30_000, 30_000, 30_000]);
  t.is((await failWith(refused(503), { retryMs: 0 })).attempts, 5);
  t.is(Math.round((await failWith(refused(503))).ms), 15_000);
});

test('what cannot be mended is not tried again: another status, and a pause of more than a minute', async (t) => {
  for (const error of [refused(422), refused(500), refused(503, 61_000)]) t.is((await failWith(error)).attempts, 1);
});

test('a proxy that cannot reach the service is tried as a service that is busy', async (t) => {
  for (const status of [502, 503, 504]) t.is(Math.round((await failWith(refused(status))).ms), 15_000, String(status));
});

test('the head of a reply is awaited as long as a connection may be silent, that of a stream as long as it is tried again', (t) => {
  const silenceMs = 60_000;
  const unset = { maxAttempts: undefined, retryMs: undefined, silenceMs };
  t.is(headMs(unset, 'at once'), 60_000);
  t.is(headMs(unset, 'stream'), 15_000);
  for (const head of ['at once', 'stream'] as const) {
    t.is(headMs({ ...unset, retryMs: 3000 }, head), 3000);
    t.is(headMs({ ...unset, retryMs: Infinity }, head), 60_000);
    t.is(headMs({ ...unset, retryMs: 0 }, head), 2000, 'also a service that is well takes its time');
    t.is(headMs({ ...unset, retryMs: 0, silenceMs: 500 }, head), 500);
  }
  t.is(headMs({ ...unset, retryMs: 3000 }, 'late'), Infinity);
});
