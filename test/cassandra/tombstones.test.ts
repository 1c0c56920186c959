import test from 'ava';
import { createThreads } from '@agent-workflow/threads/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { call, finishedTurn, owner, thread1, user } from '../contract/thread-calls.ts';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { privateCassandra } from '../servers/cassandra.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { byLoad } from '../by-load.ts';

withServerForLong(test, privateCassandra(), (server) => {
  test('1,000 times of adding and deleting a message leave nothing that Cassandra warns of', async (t) => {
    t.timeout(byLoad(180_000));
    const real = await server();
    await using keyspace = await openKeyspace(real);
    await using store = await keyspace.open();
    const threads = link(createThreads({ store }));
    await finishedTurn(threads, 'r1');
    for (let cycle = 0; cycle < 1000; cycle += 1) {
      const messageId = `m${String(cycle)}`;
      await threads.addMessages({ ...thread1, messages: [user(messageId)] }, call());
      await threads.deleteMessage({ ...thread1, messageId }, call());
      if (cycle % 100 === 0) await threads.clearState(thread1, call());
    }
    await finishedTurn(threads, 'r2');
    const page = { limit: 100, offset: 0 };
    await threads.getState(thread1, call());
    await threads.listMessages({ ...thread1, ...page }, call());
    await threads.listCheckpoints({ ...thread1, ...page }, call());
    await threads.listRuns({ ...thread1, ...page }, call());
    await threads.listOpenRuns({ limit: 100 }, call());
    t.is((await threads.listThreads({ owner, ...page }, call())).threads.length, 1);
    const warnings = (await real.readLog()).split('\n').filter((line) => /tombstone|batch.*exceed/i.test(line));
    t.deepEqual(warnings, []);
  });
});
