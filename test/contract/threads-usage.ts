import type { TestFn } from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  call,
  claim,
  commit,
  completed,
  finishedTurn,
  owner,
  refused,
  thread1,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const one = '[{"model":"ä","inputTokens":1,"outputTokens":2}]';
const two = '[{"model":"ä","inputTokens":9007199254740991,"outputTokens":4}]';

/** What the record promises of the tokens of a run: the sum of the last commit that named one. */
export function threadsUsageContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);
  const usageOf = async (threads: Threads, runId: string): Promise<string | undefined> =>
    (await threads.getRun({ owner, runId }, call())).usageJson;

  check('a commit puts the usage of its run on record, and one without leaves it', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    t.is(await usageOf(threads, 'r1'), undefined);
    await commit(threads, 'r1', epoch, { step: 0, next: ['b'], usageJson: one });
    t.is(await usageOf(threads, 'r1'), one);
    await commit(threads, 'r1', epoch, { step: 1, next: ['c'] });
    t.is(await usageOf(threads, 'r1'), one);
    await commit(threads, 'r1', epoch, { step: 2, end: completed, usageJson: two });
    t.is(await usageOf(threads, 'r1'), two);
    const { runs } = await threads.listRuns({ ...thread1, limit: 10, offset: 0 }, call());
    t.deepEqual(
      runs.map(({ runId, status, usageJson }) => [runId, status, usageJson]),
      [['r1', 'completed', two]],
    );
  });

  check('whoever takes a run over gets its usage; the next run of the thread has none', async (t, threads) => {
    const first = await acceptAndClaim(threads, 'r1');
    t.false('usageJson' in first);
    await commit(threads, 'r1', first.epoch, { next: ['b'], usageJson: one });
    const taken = await claim(threads, 'r1', { workerId: 'w2', takeoverEpoch: first.epoch });
    t.is(taken.usageJson, one);
    await commit(threads, 'r1', taken.epoch, { step: 1, end: completed });
    t.is(await usageOf(threads, 'r1'), one);
    t.false('usageJson' in (await acceptAndClaim(threads, 'r2')));
    t.is(await usageOf(threads, 'r2'), undefined);
  });

  check('a claim made again gives the usage again', async (t, threads) => {
    const first = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', first.epoch, { next: ['b'], usageJson: one });
    const again = { workerId: 'w2', takeoverEpoch: first.epoch, attemptId: 'attempt' };
    t.is((await claim(threads, 'r1', again)).usageJson, one);
    t.is((await claim(threads, 'r1', again)).usageJson, one);
  });

  check('the usage of a worker that has lost its run is refused with its commit', async (t, threads) => {
    const first = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', first.epoch, { next: ['b'], usageJson: one });
    await claim(threads, 'r1', { workerId: 'w2', takeoverEpoch: first.epoch });
    await refused(t, commit(threads, 'r1', first.epoch, { step: 1, usageJson: two }), 'Stale');
    t.is(await usageOf(threads, 'r1'), one);
  });

  check('a run keeps its usage when it is stopped, rolled back or claimed too often', async (t, threads) => {
    const stopped = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', stopped.epoch, { next: ['b'], usageJson: one });
    await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    const back = await acceptAndClaim(threads, 'r2');
    await commit(threads, 'r2', back.epoch, { next: ['b'], usageJson: one });
    await accept(threads, 'r3', { multitaskStrategy: 'rollback' });
    let { epoch } = await claim(threads, 'r3');
    await commit(threads, 'r3', epoch, { next: ['b'], usageJson: one });
    for (let attempt = 0; attempt < 4; attempt++) ({ epoch } = await claim(threads, 'r3', { takeoverEpoch: epoch }));
    const ended = await Promise.all(['r1', 'r2', 'r3'].map(async (runId) => threads.getRun({ owner, runId }, call())));
    t.deepEqual(
      ended.map(({ status, usageJson }) => [status, usageJson]),
      [
        ['stopped', one],
        ['stopped', one],
        ['failed', one],
      ],
    );
  });

  check('usage above its size limit is refused with the field and the bound', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const { epoch } = await acceptAndClaim(threads, 'r2');
    const message = await refused(
      t,
      commit(threads, 'r2', epoch, { usageJson: 'x'.repeat(sizes.usage + 1) }),
      'Invalid',
    );
    t.regex(message, /usage.*32769 bytes, more than 32768/);
    t.is(await usageOf(threads, 'r2'), undefined);
  });
}
