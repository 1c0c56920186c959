import test from 'ava';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { newHead, put } from '../contract/thread-rows.ts';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';

const hourMs = 3600 * 1000;
const owner = 'u:ada';
/** Each in an hour of its own at first. */
const threadIds = Array.from({ length: 60 }, (_, place) => `t${String(place).padStart(2, '0')}`);

withServer(test, cassandra, (server) => {
  test('a list of threads has those that move to its front meanwhile', async (t) => {
    t.timeout(240_000);
    await using keyspace = await openKeyspace(await server());
    await using store = await keyspace.open();
    const move = async (threadId: string, updatedAt: number, at: ThreadStore = store): Promise<void> => {
      await put(at, { head: { ...newHead, updatedAt } }, { owner, threadId });
    };
    for (const [place, threadId] of threadIds.entries()) await move(threadId, (place + 1) * hourMs);
    await using other = await keyspace.open();
    const missing: string[] = [];
    let isOver = false;
    const list = async (): Promise<void> => {
      while (!isOver) {
        const found = (await store.listThreads(owner, { limit: 1000 })).map(({ threadId }) => threadId);
        t.is(new Set(found).size, found.length);
        missing.push(...threadIds.filter((id) => !found.includes(id)));
      }
    };
    const listing = Promise.all([list(), list(), list()]);
    for (const [place, threadId] of threadIds.entries()) await move(threadId, (200 + place) * hourMs, other);
    isOver = true;
    await listing;
    t.deepEqual(missing, []);
  });
});
