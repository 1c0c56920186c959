import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openSession, type SentStatement } from '@agent-workflow/threads/adapters/cassandra/client/client';
import { createJournal } from '@agent-workflow/threads/adapters/cassandra/sweeps/journal';
import type { ResourceWrite } from '@agent-workflow/threads/ports/resources';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';

const kind = 'delivery';
const owner = 'u:ada';
const json = new Uint8Array(Buffer.from('{}'));
const crowd = 400;
const sweeps = 10;

const writeOf = (id: string, version: number, dueAt?: number): ResourceWrite => ({
  ...{ kind, owner, id, version, json, at: 5, attempt: randomUUID() },
  ...(dueAt === undefined ? {} : { dueAt }),
});

const inFifties = async (work: (index: number) => Promise<unknown>): Promise<void> => {
  for (let first = 0; first < crowd; first += 50)
    await Promise.all(Array.from({ length: 50 }, (_, index) => work(first + index)));
};

withServer(test, cassandra, (server) => {
  test('once a crowd that was due is handled, sweeps of any replica read none of it again', async (t) => {
    await using keyspace = await openKeyspace(await server());
    const sent = { journal: 0, rows: 0 };
    const onRequest = ({ kind: of, cql }: SentStatement): void => {
      if (of === 'read' && cql.includes('FROM journal ')) sent.journal += 1;
      if (of === 'read' && cql.includes('FROM resource ')) sent.rows += 1;
    };
    await using store = await keyspace.open({ onRequest });
    await using other = await keyspace.open({ onRequest });
    const dueAt = Date.now() + 1000;
    await inFifties((index) => store.putResource(writeOf(`d${String(index)}`, 1, dueAt)));
    const page = { until: dueAt, limit: crowd + 1 };
    t.is((await store.listDueResources(kind, page)).length, crowd);
    t.is((await other.listDueResources(kind, page)).length, crowd);
    await inFifties((index) => store.putResource(writeOf(`d${String(index)}`, 2)));
    // What the marks that ended the notes have not reached yet is found out by the first sweep.
    for (const replica of [store, other]) t.deepEqual(await replica.listDueResources(kind, page), []);
    const before = { ...sent };
    for (let sweep = 0; sweep < sweeps; sweep++)
      for (const replica of [store, other]) t.deepEqual(await replica.listDueResources(kind, page), []);
    t.is(sent.rows, before.rows);
    // The bucket of the crowd, and those beside it.
    t.true(sent.journal - before.journal <= 2 * sweeps * 2, `${String(sent.journal - before.journal)} reads`);
  });

  test('a note whose write was cut off makes nothing due, until that write takes place', async (t) => {
    await using keyspace = await openKeyspace(await server());
    let reads = 0;
    const onRequest = ({ cql }: SentStatement): void => {
      if (cql.includes('FROM resource ')) reads += 1;
    };
    await using store = await keyspace.open({ onRequest });
    await using session = await openSession(keyspace.options, { version: 100 });
    const dueAt = Date.now() + 60_000;
    const journal = createJournal({ session, now: Date.now, topic: `due ${kind}`, bucketMs: 5000, isTimely: true });
    const note = async ({ id, version, attempt }: ResourceWrite): Promise<void> => {
      const text = `${String(dueAt)}/${String(version)}/${attempt}`;
      await session.write(...journal.note({ owner, threadId: id }, text, dueAt).statements);
    };
    const due = async (): Promise<readonly [string, number][]> =>
      (await store.listDueResources(kind, { until: dueAt, limit: 10 })).map(({ id, version }) => [id, version]);

    const [first, lost, coming] = [writeOf('a', 1, dueAt), writeOf('a', 1, dueAt), writeOf('a', 2, dueAt)];
    await note(first);
    await note(lost);
    await note(coming);
    t.deepEqual(await due(), []);
    await store.putResource(first);
    t.deepEqual(await due(), [['a', 1]]);
    reads = 0;
    t.deepEqual(await due(), [['a', 1]]);
    // The lost one was written over, and is not read again.
    t.is(reads, 2);
    await store.putResource(coming);
    t.deepEqual(await due(), [['a', 2]]);
  });

  test('of replicas that write one version at once one succeeds, and only its time is due', async (t) => {
    await using keyspace = await openKeyspace(await server());
    await using one = await keyspace.open();
    await using other = await keyspace.open();
    const dueAt = Date.now() + 60_000;
    for (let version = 1; version <= 20; version++) {
      const writes = [0, 1].map((index) => writeOf('a', version, dueAt + index * 20_000 + version));
      const written = await Promise.all(
        [one, other].map((store, index) => store.putResource(writes[index] as ResourceWrite)),
      );
      t.is(written.filter((at) => at !== undefined).length, 1);
      const winner = writes[written[0] === undefined ? 1 : 0];
      for (const store of [one, other])
        t.deepEqual(await store.listDueResources(kind, { until: dueAt + 60_000, limit: 10 }), [
          { owner, id: 'a', version, dueAt: winner?.dueAt ?? NaN },
        ]);
    }
  });
});
