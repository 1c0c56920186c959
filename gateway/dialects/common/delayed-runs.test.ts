import { notFound } from '@agent-workflow/kit/errors';
import test from 'ava';
import { runOr } from './delayed-runs.ts';

test('a run that begins between the two reads is found, and one that is in neither place is not', async (t) => {
  let reads = 0;
  const begins = async (): Promise<string> => {
    if (++reads === 1) throw notFound('it has not begun');
    return 'run';
  };
  const nothing = async (): Promise<undefined> => undefined;
  t.is(await runOr(begins, nothing), 'run');
  t.is(reads, 2);
  const missing = async (): Promise<string> => {
    throw notFound('there is none');
  };
  t.is(await runOr(missing, async () => 'later'), 'later');
  await t.throwsAsync(runOr(missing, nothing), { message: 'there is none' });
});
