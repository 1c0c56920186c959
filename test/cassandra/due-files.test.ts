import test from 'ava';
import type { SentStatement } from '@agent-workflow/threads/adapters/cassandra/client/client';
import type { DueMark, FileRow } from '@agent-workflow/threads/ports/files';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';

const hourMs = 3_600_000;
const crowd = 300;
const hours = 20;

withServer(test, cassandra, (server) => {
  test('a page of due files reads about as many rows as it has, however many are due', async (t) => {
    await using keyspace = await openKeyspace(await server());
    const sent = { journal: 0, files: 0 };
    const onRequest = ({ kind, cql }: SentStatement): void => {
      if (kind === 'read' && cql.includes('FROM journal ')) sent.journal += 1;
      if (kind === 'read' && cql.includes('FROM file ')) sent.files += 1;
    };
    await using store = await keyspace.open({ onRequest });
    const now = Date.now();
    const put = async (owner: string, fileId: string, dueAt: number): Promise<void> => {
      const file: FileRow = { owner, fileId, filename: 'a', size: 1, createdAt: 1, status: 'stored', dueAt, noted: 0 };
      await store.changeFile(file, { totals: true }, () => ({ change: { put: file }, reply: undefined }));
    };
    const name = (count: number): string => `f${String(count).padStart(4, '0')}`;
    // A crowd that is due at one time, and files of many hours before.
    for (let count = 0; count < crowd; count += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => put(`u:${String(count + index)}`, name(count + index), now - 1000)),
      );
    for (let hour = 1; hour <= hours; hour++) await put('u:ada', `early${String(hour)}`, now - (hour + 1) * hourMs);

    const found: string[] = [];
    let pages = 0;
    let most = 0;
    for (let after: DueMark | undefined; ;) {
      const before = { ...sent };
      const page = await store.listDueFiles({ until: now, limit: 10, after });
      pages += 1;
      most = Math.max(most, sent.files - before.files);
      found.push(...page.map(({ fileId }) => fileId));
      const last = page.at(-1);
      if (page.length < 10 || !last) break;
      after = { dueAt: last.dueAt ?? 0, fileId: last.fileId };
    }
    const early = Array.from({ length: hours }, (_, index) => `early${String(hours - index)}`);
    t.deepEqual(found, [...early, ...Array.from({ length: crowd }, (_, index) => name(index))]);
    t.true(most <= 10, `${String(most)} files were read for one page`);
    // Two pages of files that are alone in their buckets, and one read of the journal for each of the others.
    t.true(
      sent.journal <= hours + pages + 2,
      `${String(sent.journal)} reads of the journal for ${String(pages)} pages`,
    );
  });
});
