import type { TestFn } from 'ava';
import { call, endOf, followAll, invoke, owner, start } from './calls.ts';
import { checksOf, refused, type Opener } from './checks.ts';
import { resultOf, toChunk } from './chunks.ts';
import { gates } from './gates.ts';
import { echo, gated, remembering } from './graphs.ts';
import { user } from './messages.ts';
import { holdsOrder } from './stream-checks.ts';

/** Deleted threads. */
export function deletingTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check('a deleted thread is gone with its messages, runs, events and memories', remembering, async (t, services) => {
    const { execution, threads, memory } = services;
    const { runId } = await start(execution, { threadId: 't1', messages: [user('remember green tea')] });
    await endOf(execution, runId);
    await invoke(execution, { threadId: 't2', messages: [user('remember black tea')] });
    await execution.deleteThread({ owner, threadId: 't1' }, call());
    await refused(t, threads.getThread({ owner, threadId: 't1' }, call()), 'NotFound');
    await refused(t, threads.getRun({ owner, runId }, call()), 'NotFound');
    await refused(t, execution.wait({ owner, runId }, call()), 'NotFound');
    await refused(t, followAll(execution, runId), 'NotFound');
    await refused(t, execution.deleteThread({ owner, threadId: 't1' }, call()), 'NotFound');
    const { memories } = await memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call());
    t.deepEqual(
      memories.map(({ content }) => content),
      ['black tea'],
    );
    const fresh = await invoke(execution, { threadId: 't1', messages: [user('again')], granularity: 'full' });
    t.true(fresh.meta.is_new_thread);
    t.is(fresh.context?.length, 2);
  });

  check(
    'deleting a thread stops its run in the middle of a node and ends every stream',
    patient,
    async (t, { execution, threads }) => {
      const gate = gates.next();
      const running = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
      const queued = await start(execution, { threadId: 't1' });
      await gate.entered;
      const following = [running, queued].map(async ({ runId }) => followAll(execution, runId));
      const waiting = execution.wait({ owner, runId: running.runId }, call());
      await execution.getGraph({}, call());
      await execution.deleteThread({ owner, threadId: 't1' }, call());
      t.is(await gate.fired, 'the signal fired');
      for (const events of await Promise.all(following)) {
        holdsOrder(t, events, 'low');
        t.is(resultOf(toChunk(events.at(-1))).meta.status, 'stopped');
        t.is((toChunk(events[0]).data as { readonly request_id: string }).request_id, 'q');
      }
      t.is((await waiting).kind, 'on_chain_end');
      await refused(t, threads.getThread({ owner, threadId: 't1' }, call()), 'NotFound');
      const again = await start(execution, { threadId: 't1', messages: [user('go')] });
      t.true(again.isNewThread);
      t.is((await endOf(execution, again.runId)).event, 'on_chain_end');
    },
  );

  check('an absent or foreign thread cannot be deleted', echo, async (t, { execution, threads }) => {
    await invoke(execution, { threadId: 't1' });
    await refused(t, execution.deleteThread({ owner: 'u:bob', threadId: 't1' }, call()), 'NotFound');
    await refused(t, execution.deleteThread({ owner, threadId: 't9' }, call()), 'NotFound');
    t.is((await threads.getThread({ owner, threadId: 't1' }, call())).threadId, 't1');
  });
}

/** Like a node that heeds no signal: it goes on waiting when its run is stopped. */
const patient = gated();
