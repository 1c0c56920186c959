import test from 'ava';
import { createThreads } from '@agent-workflow/threads/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { acceptAndClaim, bytes, call, thread1 } from '../contract/thread-calls.ts';
import { openClient, openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';

const thirtyDays = 30 * 24 * 3600;

withServer(test, cassandra, (server) => {
  test('a record of a tool call is kept for 30 days, and one with a time of its own for that time', async (t) => {
    await using keyspace = await openKeyspace(await server());
    await using store = await keyspace.open();
    const threads = link(createThreads({ store }));
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const record = { ...thread1, runId: 'r1', epoch, step: 0, resultJson: bytes('1') };
    await threads.noteToolResult({ ...record, callKey: 'call' }, call());
    await threads.noteToolResult({ ...record, callKey: 'branch', keepSeconds: 600 }, call());
    const { contactPoints, localDataCenter, keyspace: name } = keyspace.options;
    await using client = openClient({ contactPoints: [...contactPoints], localDataCenter, keyspace: name });
    const { rows } = await client.execute('SELECT id, TTL(result) AS kept FROM thread WHERE kind = 4 ALLOW FILTERING');
    const kept = new Map(rows.map((row) => [String(row['id']), Number(row['kept'])]));
    t.deepEqual([...kept.keys()].toSorted(), ['["r1","branch"]', '["r1","call"]']);
    const branch = kept.get('["r1","branch"]') ?? 0;
    const toolCall = kept.get('["r1","call"]') ?? 0;
    t.true(branch > 0 && branch <= 600, String(branch));
    t.true(toolCall > 600 && toolCall <= thirtyDays, String(toolCall));
  });
});
