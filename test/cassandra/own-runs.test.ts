import test from 'ava';
import type { RunMark } from '@agent-workflow/threads/ports/lists';
import type { ThreadKey } from '@agent-workflow/threads/ports/record';
import { mark, newHead, put, run } from '../contract/thread-rows.ts';
import { openClient, openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';

const hourMs = 3600 * 1000;
const at = (owner: string, threadId: string): ThreadKey => ({ owner, threadId });

withServer(test, cassandra, (server) => {
  let opening: Promise<Keyspace> | undefined;
  const open = (): Promise<Keyspace> => (opening ??= server().then(openKeyspace));
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());

  test('an hour of runs whose threads were all deleted is forgotten, and one with another run stays', async (t) => {
    const keyspace = await open();
    await using store = await keyspace.open();
    const runs = [3, 5, 9].map((hour) => run(`r${String(hour)}`, { createdAt: hour * hourMs, threadId: 'a' }));
    await put(store, { head: newHead, runs }, at('hours', 'a'));
    const other = [run('other', { createdAt: 5 * hourMs + 1, threadId: 'b' })];
    await put(store, { head: newHead, runs: other }, at('hours', 'b'));
    t.deepEqual(await hoursOf(keyspace, 'hours'), ['9', '5', '3']);
    await mark(store, at('hours', 'a'));
    await store.purge(at('hours', 'a'));
    await until(async () => (await hoursOf(keyspace, 'hours')).join() === '5');
    t.deepEqual(
      (await store.listOwnRuns('hours', { limit: 10 })).runs.map(({ runId }) => runId),
      ['other'],
    );
  });

  test('the list of the runs of an agent reads places of that agent alone, and goes with its threads', async (t) => {
    const keyspace = await open();
    await using store = await keyspace.open();
    for (const [index, agent] of ['billing', 'support', 'billing'].entries()) {
      const threadId = `${agent}-${String(index)}`;
      const runs = [run(threadId, { createdAt: index * hourMs, threadId })];
      await put(store, { head: { ...newHead, agent }, runs }, at('agents', threadId));
    }
    const listed = async (limit: number, after?: RunMark): Promise<readonly string[]> =>
      (await store.listOwnRuns('agents', { limit, after, agent: 'billing' })).runs.map(({ runId }) => runId);
    t.deepEqual(await listed(2), ['billing-2', 'billing-0']);
    t.deepEqual(await listed(2, { createdAt: 2 * hourMs, runId: 'billing-2' }), ['billing-0']);
    const list = JSON.stringify(['agents', 'billing']);
    t.deepEqual(await hoursOf(keyspace, list), ['2', '0']);
    await mark(store, at('agents', 'billing-2'));
    await store.purge(at('agents', 'billing-2'));
    t.deepEqual(await listed(2), ['billing-0']);
    await until(async () => (await hoursOf(keyspace, list)).join() === '0');
  });

  test('a place in the list whose run was never written is passed over', async (t) => {
    const keyspace = await open();
    await using store = await keyspace.open();
    await put(store, { head: newHead, runs: [run('real', { createdAt: 7 })] }, at('vain', 't1'));
    await write(
      keyspace,
      'INSERT INTO runs_by_owner (owner, hour, created_at, run_id, thread_id) VALUES (?, 0, ?, ?, ?)',
      [
        ['vain', 8n, 'absent', 't1'],
        ['vain', 9n, 'absent', 'no-thread'],
        // The run of an attempt that lost; a later one made it.
        ['vain', 6n, 'real', 't1'],
      ],
    );
    const { runs, next } = await store.listOwnRuns('vain', { limit: 10 });
    t.deepEqual(
      runs.map(({ runId, createdAt }) => [runId, createdAt]),
      [['real', 7]],
    );
    t.is(next, undefined);
    const part = await store.listOwnRuns('vain', { limit: 2 });
    t.deepEqual([part.runs, part.next], [[], { createdAt: 8, runId: 'absent' }]);
  });
});

async function hoursOf(keyspace: Keyspace, owner: string): Promise<string[]> {
  await using client = clientOf(keyspace);
  const cql = 'SELECT hour FROM run_hours_by_owner WHERE owner = ?';
  return (await client.execute(cql, [owner], { prepare: true })).rows.map((row) => String(row['hour']));
}

async function write(keyspace: Keyspace, cql: string, rows: readonly (readonly unknown[])[]): Promise<void> {
  await using client = clientOf(keyspace);
  for (const row of rows) await client.execute(cql, [...row], { prepare: true });
}

const clientOf = ({ options: { contactPoints, localDataCenter, keyspace } }: Keyspace) =>
  openClient({
    ...{ contactPoints: [...contactPoints], localDataCenter, keyspace },
    encoding: { useBigIntAsLong: true },
  });
