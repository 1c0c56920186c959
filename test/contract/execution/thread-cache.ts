import type { TestFn } from 'ava';
import { field, START, StateGraph, textOf } from '@agent-workflow/graph';
import { call, fieldOf, invoke, owner } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { echo, turns } from './graphs.ts';
import { user } from './messages.ts';

/** The states that a worker keeps in memory between runs. */
export function threadCacheTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check(
    'threads whose states outgrow the memory for them keep them all the same',
    growingState,
    async (t, { execution, threads }) => {
      const ids = Array.from({ length: 8 }, (_, index) => `t${String(index)}`);
      await Promise.all(
        ids.map(async (threadId) => {
          for (let turn = 0; turn < 6; turn++) await invoke(execution, { threadId });
        }),
      );
      for (const threadId of ids) t.is(await fieldOf(threads, threadId, 'turns'), 6);
    },
    { HOT_STATE_MB: '1' },
  );

  check('what runs on a thread sees what was written to it directly', echo, async (t, { execution, threads }) => {
    await invoke(execution, { threadId: 't1' });
    await threads.addMessages({ owner, threadId: 't1', messages: [user('by hand', 'hand')] }, call());
    const { context } = await invoke(execution, { threadId: 't1', granularity: 'full', messages: [user('b')] });
    t.deepEqual(context?.map(textOf), ['hi', 'you said hi', 'by hand', 'b', 'you said b']);
    await threads.clearState({ owner, threadId: 't1' }, call());
    const cleared = await invoke(execution, { threadId: 't1', granularity: 'full', messages: [user('c')] });
    t.deepEqual(cleared.context?.map(textOf), ['c', 'you said c']);
    t.is(cleared.state?.['turns'], 1);
  });
}

const growingState = new StateGraph({ turns, ballast: field<string>({ type: 'string', default: '' }) })
  .addNode('grow', ({ turns: count }) => ({ turns: 1, ballast: String(count).repeat(300_000) }))
  .addEdge(START, 'grow')
  .compile();
