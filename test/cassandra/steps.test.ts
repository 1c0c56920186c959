import { readdir, readFile } from 'node:fs/promises';
import test from 'ava';
import type { ThreadKey } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { bytes, checkpoint, entry, newHead, owner, put } from '../contract/thread-rows.ts';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { openCqlProxy } from '../servers/cql-proxy.ts';
import { withServer } from '../servers/real-suite.ts';

withServer(test, cassandra, (server) => {
  test('a step at 10,000 messages takes no more than 1.2 times as long as at 10', async (t) => {
    await using keyspace = await openKeyspace(await server());
    await using store = await keyspace.open();
    const short = await grow(store, 'short', 10);
    const long = await grow(store, 'long', 10_000);
    const times: [number[], number[]] = [[], []];
    // Taken in turn, so that whatever else the machine does weighs on both.
    for (let step = 0; step < 300; step += 1) {
      times[0].push(await timeOf(() => commit(store, short, step)));
      times[1].push(await timeOf(() => commit(store, long, step)));
    }
    const [atShort, atLong] = times.map((each) => each.slice(50).toSorted((a, b) => a - b)[125] ?? 0) as [
      number,
      number,
    ];
    t.log(`median of a step: ${atShort.toFixed(2)} ms at 10 messages, ${atLong.toFixed(2)} ms at 10,000`);
    t.true(atLong <= 1.2 * atShort, `${String(atLong / atShort)} times`);
  });

  test('every statement is sent prepared', async (t) => {
    await using keyspace = await openKeyspace(await server());
    await using proxy = await openCqlProxy(keyspace.options.contactPoints[0] ?? '');
    await using store = await keyspace.open({ contactPoints: [proxy.contactPoint] });
    const unprepared: number[] = [];
    let statements = 0;
    proxy.judge = ({ isPrepared, isStatement }) => {
      if (isStatement) statements += 1;
      if (isStatement && !isPrepared) unprepared.push(statements);
      return 'pass';
    };
    const key = await grow(store, 'prepared', 20);
    await commit(store, key, 1);
    await store.getState(key);
    await store.listThreads(owner, { limit: 10 });
    await store.listOpenRuns({ limit: 10 });
    await put(store, { head: { ...newHead, deleting: true } }, key);
    await store.purge(key);
    t.true(statements > 10);
    t.deepEqual(unprepared, []);
  });
});

test('no statement filters where it has no key, and no table has an index of its own', async (t) => {
  const folder = new URL('../../services/threads/adapters/cassandra/', import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'));
  t.true(files.length > 10);
  for (const file of files)
    t.notRegex(await readFile(new URL(file, folder), 'utf8'), /ALLOW FILTERING|CREATE .*INDEX/i);
});

async function grow(store: ThreadStore, threadId: string, count: number): Promise<ThreadKey> {
  const key = { owner, threadId };
  for (let at = 0; at < count; at += 1000) {
    const messages = Array.from({ length: Math.min(1000, count - at) }, (_, index) => entry(at + index));
    await put(store, { head: { ...newHead, nextPosition: at + messages.length }, messages }, key);
  }
  return key;
}

/** As a step of a run is committed: two fields and two messages. */
const commit = (store: ThreadStore, key: ThreadKey, step: number): Promise<void> =>
  store.change(key, { fields: ['a', 'b'] }, ({ head = newHead }) => {
    const { nextPosition, version } = head;
    const value = bytes(JSON.stringify({ step }));
    return {
      change: {
        head: { ...head, version: version + 1, nextPosition: nextPosition + 2 },
        fields: { a: value, b: value },
        messages: [entry(nextPosition), entry(nextPosition + 1)],
        checkpoint: checkpoint(step),
      },
      reply: undefined,
    };
  });

async function timeOf(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
