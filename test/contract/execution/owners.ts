import type { TestFn } from 'ava';
import { textOf } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import { call, endOf, followAll, invoke, logOf, start } from './calls.ts';
import { checksOf, refused, type Opener } from './checks.ts';
import { echo } from './graphs.ts';
import { user } from './messages.ts';

/** Each owner has runs and threads of their own. */
export function ownerTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check('runs of other owners are absent', echo, async (t, { execution }) => {
    const { runId } = await start(execution);
    await endOf(execution, runId);
    for (const id of [runId, newId()]) {
      await refused(t, execution.wait({ owner: 'u:bob', runId: id }, call()), 'NotFound');
      await refused(t, followAll(execution, id, 0, 'u:bob'), 'NotFound');
    }
  });

  check('two owners use one thread id without meeting', echo, async (t, { execution, threads }) => {
    await Promise.all(
      ['u:ada', 'u:bob'].map(async (each) =>
        invoke(execution, { owner: each, threadId: 't1', messages: [user(each)] }),
      ),
    );
    for (const each of ['u:ada', 'u:bob'])
      t.deepEqual((await logOf(threads, 't1', each)).map(textOf), [each, `you said ${each}`]);
  });
}
