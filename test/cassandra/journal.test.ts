import test from 'ava';
import { openSession, type SentStatement } from '@agent-workflow/threads/adapters/cassandra/client/client';
import { createJournal, type Journal, type Noted } from '@agent-workflow/threads/adapters/cassandra/sweeps/journal';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';

const thread = { owner: 'u:ada', threadId: 't1' };
const bucketMs = 10_000;
const minuteMs = 60_000;

withServer(test, cassandra, (server) => {
  /** A journal of a keyspace of its own, whose clock is moved by hand, and how many times notes of a bucket were read. */
  interface Place {
    readonly journal: Omit<Journal, 'note' | 'end'> & {
      readonly note: (...given: Parameters<Journal['note']>) => Promise<void>;
      readonly end: (...given: Parameters<Journal['end']>) => Promise<void>;
    };
    readonly pass: (ms: number) => void;
    readonly now: () => number;
    readonly reads: () => number;
  }

  const open = async (run: (place: Place) => Promise<void>, isTimely = true): Promise<void> => {
    await using keyspace = await openKeyspace(await server());
    let reads = 0;
    const onRequest = ({ kind, cql }: SentStatement): void => {
      if (kind === 'read' && cql.includes('FROM journal ')) reads++;
    };
    await using session = await openSession(keyspace.options, { version: 1, onRequest });
    let passed = 0;
    // It begins with a bucket.
    const start = Math.ceil(Date.now() / bucketMs) * bucketMs;
    const now = (): number => start + passed;
    const made = createJournal({ session, now, topic: 'open', bucketMs, isTimely });
    const note: Place['journal']['note'] = async (...given) => {
      const { statements, onWritten } = made.note(...given);
      await session.write(...statements);
      onWritten?.();
    };
    const end: Place['journal']['end'] = (...given) => session.write(made.end(...given));
    const journal = { ...made, note, end };
    await run({ journal, now, pass: (ms) => (passed += ms), reads: () => reads });
  };

  const walk = async (journal: Pick<Journal, 'walk'>, until: number): Promise<readonly Noted[]> => {
    const found: Noted[] = [];
    for await (const notes of journal.walk(until)) found.push(...notes);
    return found;
  };
  const idsOf = (notes: readonly Noted[]): string[] => notes.map(({ id }) => id);

  test('what was noted is found until it is told to be over, by whoever walks', async (t) => {
    await open(async ({ journal, now }) => {
      for (const id of ['a', 'b', 'c']) await journal.note(thread, id, now());
      t.deepEqual(idsOf(await walk(journal, now())), ['a', 'b', 'c']);
      await journal.end(thread, 'b', now());
      t.deepEqual(idsOf(await walk(journal, now())), ['a', 'c']);
      for (const noted of await walk(journal, now())) journal.settle(noted);
      t.deepEqual(await walk(journal, now()), []);
    });
  });

  test('in order, notes begin after a mark, and a bucket that is over is removed with those before it', async (t) => {
    const run = async ({ journal, now, pass, reads }: Place): Promise<void> => {
      const first = now();
      const start = { owner: '', threadId: '', time: 0 };
      const idsFrom = async (after: typeof start, most = Infinity): Promise<string[]> => {
        const found: Noted[] = [];
        for await (const noted of journal.inOrder(after, now())) {
          found.push(noted);
          if (found.length === most) break;
        }
        return idsOf(found);
      };
      for (const [threadId, id] of [
        ['t3', 'c'],
        ['t1', 'a'],
        ['t2', 'b'],
      ] as const)
        await journal.note({ owner: 'u:ada', threadId }, id, first);
      pass(bucketMs);
      await journal.note({ owner: 'u:ada', threadId: 't0' }, 'd', now());
      t.deepEqual(await idsFrom(start), ['a', 'b', 'c', 'd']);
      t.deepEqual(await idsFrom(start, 2), ['a', 'b']);
      const behind = { owner: 'u:ada', threadId: 't2', time: first };
      t.deepEqual(await idsFrom(behind), ['c', 'd']);
      for await (const noted of journal.inOrder(start, first)) if (noted.id !== 'c') journal.settle(noted);
      t.deepEqual(await idsFrom(start), ['c', 'd']);
      // One that is left keeps its bucket, whatever is behind it.
      pass(20 * minuteMs);
      t.deepEqual(await idsFrom(start), ['c', 'd']);
      for await (const noted of journal.inOrder(behind, now())) journal.settle(noted);
      t.deepEqual(await idsFrom(start), []);
      const before = reads();
      t.deepEqual(await idsFrom(start), []);
      t.is(reads(), before);
    };
    await open(run, false);
  });

  test('only the newest buckets are read at every walk, and a note that comes late is found within a minute', async (t) => {
    await open(async ({ journal, now, pass, reads }) => {
      const first = now();
      await journal.note(thread, 'a', first);
      t.deepEqual(idsOf(await walk(journal, now())), ['a']);
      pass(bucketMs + 11_000);
      await walk(journal, now());
      const before = reads();
      await journal.note(thread, 'late', first);
      await walk(journal, now());
      t.is(reads(), before);
      pass(minuteMs + 1000);
      t.deepEqual(idsOf(await walk(journal, now())), ['a', 'late']);
      t.is(reads(), before + 1);
    });
  });

  test('a bucket that one run keeps open is read no more, nor are those after it that are over', async (t) => {
    await open(async ({ journal, now, pass, reads }) => {
      await journal.note(thread, 'long', now());
      for (const id of ['a', 'b', 'c']) {
        pass(bucketMs);
        await journal.note(thread, id, now());
        await journal.end(thread, id, now());
      }
      pass(11 * minuteMs);
      t.deepEqual(idsOf(await walk(journal, now())), ['long']);
      const before = reads();
      for (let times = 0; times < 3; times++) t.deepEqual(idsOf(await walk(journal, now())), ['long']);
      t.is(reads(), before);
      const [long] = await walk(journal, now());
      if (long) journal.settle(long);
      for (let times = 0; times < 2; times++) t.deepEqual(await walk(journal, now()), []);
      t.is(reads(), before);
    });
  });
});
