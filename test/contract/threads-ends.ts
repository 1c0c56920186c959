import type { TestFn } from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import { accept, acceptAndClaim, bytes, call, claim, commit, owner, thread1 } from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

/** What a run that is between two steps has committed: its node "a" ran three times, "b" twice. */
const progressJson = bytes('{"visits":{"a":3,"b":2}}');

/** A run that has committed some steps. */
async function underWay(threads: Threads, runId: string): Promise<{ readonly epoch: number }> {
  const { epoch } = await acceptAndClaim(threads, runId);
  await commit(threads, runId, epoch, { next: ['b'], progressJson: bytes('{"visits":{"a":1}}') });
  await commit(threads, runId, epoch, { step: 1, next: ['a'], progressJson });
  return { epoch };
}

const iterationsOf = async (threads: Threads, runId: string): Promise<number | undefined> =>
  (await threads.getRun({ owner, runId }, call())).end?.iterations;

/** What the record promises about runs that others than their worker end. */
export function threadsEndsContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('a run that is stopped has the iterations that it has committed', async (t, threads) => {
    await underWay(threads, 'r1');
    await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    t.is(await iterationsOf(threads, 'r1'), 3);
  });

  check('a run whose progress cannot be read is stopped, and its thread is deleted', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, { next: ['b'], progressJson: bytes('not json') });
    await accept(threads, 'r2');
    t.true((await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call())).endedNow);
    t.is(await iterationsOf(threads, 'r1'), 0);
    const other = await claim(threads, 'r2');
    await commit(threads, 'r2', other.epoch, { next: ['b'], progressJson: bytes('{"visits":null}') });
    t.deepEqual((await threads.beginDelete(thread1, call())).stoppedRunIds, ['r2']);
    await threads.finishDelete(thread1, call());
  });

  for (const multitaskStrategy of ['interrupt', 'rollback'] as const)
    check(`a run that gives way by ${multitaskStrategy} has them`, async (t, threads) => {
      await underWay(threads, 'r1');
      await accept(threads, 'r2', { multitaskStrategy });
      t.is(await iterationsOf(threads, 'r1'), 3);
    });

  check('a run that is failed by its last claim has them', async (t, threads) => {
    let { epoch: takeoverEpoch } = await underWay(threads, 'r1');
    for (;;) {
      const claimed = await claim(threads, 'r1', { takeoverEpoch });
      if (claimed.givenUp) break;
      takeoverEpoch = claimed.epoch;
    }
    t.is(await iterationsOf(threads, 'r1'), 3);
  });

  check('a run whose thread is deleted has them', async (t, threads) => {
    await underWay(threads, 'r1');
    await accept(threads, 'r2');
    const { stoppedRuns } = await threads.beginDelete(thread1, call());
    t.deepEqual(
      stoppedRuns.map(({ runId, iterations }) => [runId, iterations]),
      [
        ['r1', 3],
        ['r2', 0],
      ],
    );
  });

  check('a run without a commit has none, whatever the run before it left', async (t, threads) => {
    const { epoch } = await underWay(threads, 'r1');
    const end = { status: 'interrupted', iterations: 3, recursionLimitReached: false } as const;
    const questions = { step: 2, next: ['a'], openInterrupts: ['q1'], end };
    await commit(threads, 'r1', epoch, { ...questions, progressJson });
    await accept(threads, 'r2');
    await accept(threads, 'r3');
    await threads.endRun({ owner, runId: 'r3', status: 'stopped' }, call());
    await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call());
    await acceptAndClaim(threads, 'r4');
    await threads.endRun({ owner, runId: 'r4', status: 'stopped' }, call());
    t.deepEqual(await Promise.all(['r1', 'r2', 'r3', 'r4'].map((id) => iterationsOf(threads, id))), [3, 0, 0, 0]);
  });
}
