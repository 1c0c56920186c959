import type { TestFn } from 'ava';
import { field, START, StateGraph, textOf } from '@agent-workflow/graph';
import { call, endOf, fieldOf, followAll, logOf, owner, start } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { toChunk } from './chunks.ts';
import { user } from './messages.ts';
import { holdsOrder } from './stream-checks.ts';

/** Nodes that throw. */
export function failureTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check(
    'a node that throws fails the run, names itself and keeps the steps before',
    failing,
    async (t, { execution, threads }) => {
      const { runId } = await start(execution, { threadId: 't1', messages: [user('hi', 'm1')] });
      const events = await followAll(execution, runId);
      holdsOrder(t, events, 'low');
      const end = toChunk(events.at(-1));
      t.is(end.event, 'error');
      t.deepEqual(end.data, {
        code: 'NODE_ERROR',
        message: 'node "second" failed: an unexpected error, which is in the log of the service',
        node: 'second',
        reason: 'unexpected',
        thrown: 'Error',
      });
      t.is(end.metadata.node, 'second');
      t.deepEqual((await logOf(threads, 't1')).map(textOf), ['hi', 'first is done']);
      t.is(await fieldOf(threads, 't1', 'topic'), 'kept');
      const run = await threads.getRun({ owner, runId }, call());
      t.is(run.status, 'failed');
      t.like(run.end?.error, { code: 'NodeFailed', node: 'second' });
      const again = await start(execution, { threadId: 't1' });
      t.is((await endOf(execution, again.runId)).event, 'error');
    },
  );

  check('a failed run gives the thread to the one that waits', failing, async (t, { execution, threads }) => {
    const runs = await Promise.all(Array.from({ length: 3 }, async () => start(execution, { threadId: 't1' })));
    for (const { runId } of runs) t.is((await endOf(execution, runId)).event, 'error');
    t.is((await logOf(threads, 't1')).length, 6);
  });
}

const failing = new StateGraph({ topic: field<string>({ type: 'string', default: '' }) })
  .addNode('first', (_state, ctx) => {
    ctx.emit('first is done');
    return { topic: 'kept' };
  })
  .addNode('second', (_state, ctx) => {
    ctx.emit('lost words');
    throw new Error('no tea left');
  })
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .compile();
