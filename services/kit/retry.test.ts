import test from 'ava';
import fc from 'fast-check';
import { backoffMs, retry, type RetryOptions } from './retry.ts';

const quick = { firstMs: 1, maxMs: 2, mayHelp: () => true };

/** Work whose first attempts fail, each with an error of its own, and that counts them. */
function failing(failures: number): { readonly work: () => Promise<string>; readonly attempts: () => number } {
  let attempts = 0;
  return {
    attempts: () => attempts,
    work: async () => {
      attempts += 1;
      if (attempts <= failures) throw new Error(`attempt ${String(attempts)}`);
      return 'done';
    },
  };
}

/** Retries that must end without another attempt. */
const endsAfterOne = test.macro(async (t, options: Partial<RetryOptions>, message: string) => {
  const { work, attempts } = failing(1);
  await t.throwsAsync(retry(work, { ...quick, ...options }), { message });
  t.is(attempts(), 1);
});

test('work that fails is tried again until it succeeds, and each failure is reported', async (t) => {
  const { work } = failing(2);
  const failures: unknown[] = [];
  t.is(await retry(work, { ...quick, onRetry: (error) => void failures.push(error) }), 'done');
  t.deepEqual(failures.map(String), ['Error: attempt 1', 'Error: attempt 2']);
});

test(
  'an error that another attempt does not mend is thrown at once',
  endsAfterOne,
  { mayHelp: () => false },
  'attempt 1',
);
test('no wait begins that would pass the deadline', endsAfterOne, { deadline: 0 }, 'attempt 1');
test(
  'an error that asks for a longer wait than the longest is thrown',
  endsAfterOne,
  { leastMs: () => 3 },
  'attempt 1',
);
test(
  'what the report of a failure throws ends the attempts',
  endsAfterOne,
  {
    onRetry: () => {
      throw new Error('closed');
    },
  },
  'closed',
);

test('when the last attempt fails, its error is thrown', async (t) => {
  const { work, attempts } = failing(9);
  await t.throwsAsync(retry(work, { ...quick, maxAttempts: 3 }), { message: 'attempt 3' });
  t.is(attempts(), 3);
});

test('a signal that fires ends the wait with its reason', async (t) => {
  const stopping = new AbortController();
  const { work, attempts } = failing(9);
  const waiting = retry(work, {
    ...{ firstMs: 60_000, maxMs: 60_000, mayHelp: () => true, signal: stopping.signal },
    onRetry: () => void setImmediate(() => stopping.abort(new Error('stopped'))),
  });
  await t.throwsAsync(waiting, { message: 'stopped' });
  t.is(attempts(), 1);
  await t.throwsAsync(retry(work, { ...quick, signal: stopping.signal }), { message: 'stopped' });
  t.is(attempts(), 1);
});

test('the result of an attempt counts also when the signal fires during it', async (t) => {
  const stopping = new AbortController();
  const open = async (): Promise<string> => {
    stopping.abort(new Error('stopped'));
    return Promise.resolve('opened');
  };
  t.is(await retry(open, { ...quick, signal: stopping.signal }), 'opened');
});

test('any thrown value is retried, and reaches the caller unchanged', async (t) => {
  for (const thrown of [new TypeError('a fault of the code'), 'no error', undefined]) {
    let attempts = 0;
    const work = (): Promise<never> => {
      attempts += 1;
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- code of an agent may throw anything
      throw thrown;
    };
    const caught = await retry(work, { ...quick, maxAttempts: 2 }).then(
      () => t.fail(),
      (error: unknown) => error,
    );
    t.is(caught, thrown);
    t.is(attempts, 2);
  }
});

test('a wait grows by its factor up to its maximum, and its random share only shortens it', (t) => {
  const whole = { firstMs: 100, maxMs: 1000, jitter: 0 };
  t.deepEqual(
    [1, 2, 3, 4, 5].map((attempt) => backoffMs(whole, attempt)),
    [100, 200, 400, 800, 1000],
  );
  t.is(backoffMs({ firstMs: 50, maxMs: 50, factor: 1, jitter: 0 }, 30), 50);
  const waits = fc.record({
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    attempt: fc.integer({ min: 1, max: 10_000 }),
    drawn: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  });
  fc.assert(
    fc.property(waits, ({ jitter, attempt, drawn }) => {
      const ms = backoffMs({ ...whole, jitter }, attempt, () => drawn);
      const bound = backoffMs(whole, attempt);
      return ms <= bound && ms >= bound * (1 - jitter) - 1e-9;
    }),
  );
});
