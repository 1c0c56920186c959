import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openSession, type SentStatement } from '@agent-workflow/threads/adapters/cassandra/client/client';
import { createJournal } from '@agent-workflow/threads/adapters/cassandra/sweeps/journal';
import type { ResourceWrite } from '@agent-workflow/threads/ports/resources';
import { byLoad } from '../by-load.ts';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { openCqlProxy } from '../servers/cql-proxy.ts';
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

  test('replies that are lost leave one write of each version, which is due as it says', async (t) => {
    await using keyspace = await openKeyspace(await server());
    await using proxy = await openCqlProxy(keyspace.options.contactPoints[0] ?? '');
    const reach = { contactPoints: [proxy.contactPoint], requestTimeoutMs: byLoad(500), deadlineMs: byLoad(20_000) };
    await using lossy = await keyspace.open(reach);
    await using direct = await keyspace.open();
    const dueAt = Date.now() + 60_000;
    const isLost = createFates();
    let lost = 0;
    proxy.judge = () => {
      if (!isLost()) return 'pass';
      lost += 1;
      return 'drop';
    };
    const ids = Array.from({ length: 8 }, (_, index) => `a${String(index)}`);
    const versions = 5;
    await Promise.all(
      ids.map(async (id) => {
        for (let version = 1; version <= versions; version++) {
          const writes = [0, 1].map((index) => writeOf(id, version, dueAt + index * 7000 + version));
          const [first, second] = await Promise.all(
            [lossy, direct].map((store, index) => store.putResource(writes[index] as ResourceWrite)),
          );
          t.true((first === undefined) !== (second === undefined));
          const row = await direct.getResource({ kind, owner, id });
          t.like(row, { version, dueAt: writes[first === undefined ? 1 : 0]?.dueAt });
        }
      }),
    );
    t.true(lost > 0);
    await using fresh = await keyspace.open();
    const rows = await fresh.listResources({ kind, owner }, { limit: 100 });
    t.deepEqual(
      rows.map(({ id }) => id),
      ids.toReversed(),
    );
    const due = await fresh.listDueResources(kind, { until: dueAt + 60_000, limit: 100 });
    const byId = due.toSorted((a, b) => (a.id < b.id ? 1 : -1));
    t.deepEqual(
      byId.map(({ id, version, dueAt: at }) => [id, version, at]),
      rows.map(({ id, version, dueAt: at }) => [id, version, at]),
    );
  });
});

/** One reply in seven is lost, always the same ones. */
function createFates(): () => boolean {
  let count = 0;
  return () => ++count % 7 === 0;
}
