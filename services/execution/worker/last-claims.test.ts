import test from 'ava';
import { createLastClaims } from './last-claims.ts';
import type { RunnableRun } from '../ports/queue.ts';

const run = (runId: string): RunnableRun => ({ owner: 'u:ada', threadId: `thread of ${runId}`, runId });

test('runs on their last claim are driven one after another, each once, also those that arrive while another is driven', async (t) => {
  const driven: string[] = [];
  const ends: (() => void)[] = [];
  const take = createLastClaims(async ({ runId }) => {
    driven.push(runId);
    await new Promise<void>((resolve) => ends.push(resolve));
  });
  const endOne = async (): Promise<void> => {
    ends.shift()?.();
    await new Promise(setImmediate);
  };
  take(run('one'));
  take(run('two'));
  take(run('two'));
  t.deepEqual(driven, ['one']);
  await endOne();
  take(run('three'));
  t.deepEqual(driven, ['one', 'two']);
  await endOne();
  await endOne();
  t.deepEqual(driven, ['one', 'two', 'three']);
  take(run('four'));
  t.deepEqual(driven, ['one', 'two', 'three', 'four']);
});
